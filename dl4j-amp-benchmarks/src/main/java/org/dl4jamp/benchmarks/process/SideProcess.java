package org.dl4jamp.benchmarks.process;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.dl4jamp.benchmarks.dl4j.ProfiledExecutioner;
import org.dl4jamp.benchmarks.kernels.OneDnnLog;
import org.dl4jamp.benchmarks.side.Profile;
import org.dl4jamp.benchmarks.side.Records;
import org.dl4jamp.benchmarks.side.Repetition;
import org.dl4jamp.benchmarks.side.Statistics;
import org.dl4jamp.benchmarks.side.UnavailableException;

/** Runs repetitions of sides, each in a JVM of its own with the JVM's default settings. */
public final class SideProcess {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String MAIN = "org.dl4jamp.benchmarks.SideMain";
    private static final String PYTORCH_MAIN = "org.dl4jamp.benchmarks.pytorch.PyTorchMain";
    private static final String ONNX_RUNTIME_MAIN = "org.dl4jamp.benchmarks.onnxruntime.OnnxRuntimeMain";
    /** Otherwise ONNX Runtime writes into the user's home, and crashes with long command lines. */
    private static final String NO_TELEMETRY = "ORT_DISABLE_TELEMETRY";

    private static final int TAIL_LINES = 15;

    private final ClassPaths classPaths;
    private final int threads;
    private final Duration limit;
    private final Records records;

    /**
     * @param threads of all native libraries
     * @param limit the most time for one repetition
     * @param records what the processes record of the measured steps
     */
    public SideProcess(ClassPaths classPaths, int threads, Duration limit, Records records) {
        this.classPaths = classPaths;
        this.threads = threads;
        this.limit = limit;
        this.records = records;
    }

    /**
     * Runs one repetition.
     *
     * @param folder with the case's model and job
     * @return the process's figures; if it failed or took too long, why, with the end of what it wrote
     */
    public Repetition run(Side side, Path folder) throws IOException, InterruptedException {
        Path result = folder.resolve("result.json");
        Path log = folder.resolve(side.key() + ".log");
        Files.deleteIfExists(result);
        List<String> command;
        try {
            command = command(side, folder, result);
        } catch (UnavailableException e) {
            return Repetition.unavailable(e.getMessage());
        }
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
        setThreads(builder.environment());
        builder.environment().put(NO_TELEMETRY, "1");
        builder.environment().put(OneDnnLog.TIMESTAMPS, "1");
        Process process = builder.start();
        try {
            if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
                return Repetition.unavailable(
                        "a repetition took longer than " + limit.toSeconds() + " s (--time-limit)");
            }
        } finally {
            process.destroyForcibly().waitFor();
        }
        if (process.exitValue() != 0 || Files.notExists(result)) {
            return Repetition.unavailable("its process ended with " + process.exitValue() + ":\n" + tail(log));
        }
        Repetition repetition = JSON.readValue(result.toFile(), Repetition.class);
        if (records != Records.KERNELS || repetition.unavailable() != null) {
            return repetition;
        }
        Profile kernels = side.isForeign() ? repetition.profile() : OneDnnLog.read(log);
        return repetition.with(kernels.of(Statistics.median(repetition.seconds())));
    }

    private List<String> command(Side side, Path folder, Path result) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+IgnoreUnrecognizedVMOptions",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                classPaths.of(side)));
        if (side == Side.DL4J_HELPERS_FP32) {
            command.add("-Dorg.bytedeco.javacpp.platform.extension=-onednn");
            command.add("-Dorg.eclipse.deeplearning4j.helpers.disable=false");
        }
        if (records == Records.WORK) {
            command.add("-D" + ProfiledExecutioner.PROPERTY + "=" + ProfiledExecutioner.class.getName());
        }
        command.add(main(side));
        command.addAll(List.of(folder.toString(), side.key(), result.toString()));
        return command;
    }

    private static String main(Side side) {
        if (side == Side.ONNX_RUNTIME_FP32) {
            return ONNX_RUNTIME_MAIN;
        }
        return side.isPyTorch() ? PYTORCH_MAIN : MAIN;
    }

    private void setThreads(Map<String, String> environment) {
        for (String variable : List.of("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")) {
            environment.put(variable, Integer.toString(threads));
        }
    }

    private static String tail(Path log) throws IOException {
        List<String> lines = new String(Files.readAllBytes(log), StandardCharsets.UTF_8)
                .lines()
                .toList();
        return String.join("\n", lines.subList(Math.max(0, lines.size() - TAIL_LINES), lines.size()));
    }
}
