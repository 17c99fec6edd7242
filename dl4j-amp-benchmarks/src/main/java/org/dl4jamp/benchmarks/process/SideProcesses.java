package org.dl4jamp.benchmarks.process;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.dl4jamp.benchmarks.dl4j.ProfiledExecutioner;
import org.dl4jamp.benchmarks.kernels.OneDnnLog;
import org.dl4jamp.benchmarks.side.Profile;
import org.dl4jamp.benchmarks.side.Records;
import org.dl4jamp.benchmarks.side.Repetition;
import org.dl4jamp.benchmarks.side.Statistics;
import org.dl4jamp.benchmarks.side.UnavailableException;

/** Runs repetitions of sides, each in a JVM of its own with the JVM's default settings. */
public final class SideProcesses {
    private static final String MAIN = "org.dl4jamp.benchmarks.SideMain";
    private static final String PYTORCH_MAIN = "org.dl4jamp.benchmarks.pytorch.PyTorchMain";
    private static final String ONNX_RUNTIME_MAIN = "org.dl4jamp.benchmarks.onnxruntime.OnnxRuntimeMain";
    /** Otherwise ONNX Runtime writes into the user's home, and crashes with long command lines. */
    private static final String NO_TELEMETRY = "ORT_DISABLE_TELEMETRY";

    /** Threads of native libraries look for work so long, before they sleep and leave the processor to another side. */
    private static final long REST_MILLIS = 250;

    private final ClassPaths classPaths;
    private final int threads;
    private final Duration limit;
    private final Records records;

    /**
     * @param threads of all native libraries
     * @param limit the most time for one repetition of a side
     * @param records what the processes record of the measured steps
     */
    public SideProcesses(ClassPaths classPaths, int threads, Duration limit, Records records) {
        this.classPaths = classPaths;
        this.threads = threads;
        this.limit = limit;
        this.records = records;
    }

    /**
     * Runs one repetition of some sides. Their processes warm up one after the other, and then take turns.
     *
     * @param folder with the case's model and job
     * @param turns of each side, as the job says
     * @return the figures by side; of one that failed or took too long, why, with the end of what it wrote
     */
    public Map<Side, Repetition> run(List<Side> sides, Path folder, int turns)
            throws IOException, InterruptedException {
        Map<Side, Repetition> results = new EnumMap<>(Side.class);
        Map<Side, SideProcess> processes = new EnumMap<>(Side.class);
        try {
            for (Side side : sides) {
                try {
                    processes.put(side, start(side, folder));
                    processes.get(side).warmUp();
                } catch (UnavailableException e) {
                    results.put(side, Repetition.unavailable(e.getMessage()));
                }
            }
            for (int turn = 0; turn < turns; turn++) {
                giveTurns(processes.values());
            }
            for (Map.Entry<Side, SideProcess> each : processes.entrySet()) {
                results.put(
                        each.getKey(),
                        withKernels(each.getKey(), each.getValue().result(), folder));
            }
        } finally {
            for (SideProcess process : processes.values()) {
                process.close();
            }
        }
        return results;
    }

    private static void giveTurns(Iterable<SideProcess> processes) throws IOException, InterruptedException {
        for (SideProcess process : processes) {
            if (process.waits()) {
                Thread.sleep(REST_MILLIS);
                process.turn();
            }
        }
    }

    private SideProcess start(Side side, Path folder) throws IOException {
        Path result = folder.resolve(side.key() + ".json");
        String classPath = classPaths.of(side);
        ProcessBuilder builder = new ProcessBuilder();
        setThreads(builder.environment());
        builder.environment().put(NO_TELEMETRY, "1");
        builder.environment().put(OneDnnLog.TIMESTAMPS, "1");
        return new SideProcess(
                builder, port -> command(side, classPath, folder, result, port), log(side, folder), result, limit);
    }

    private static Path log(Side side, Path folder) {
        return folder.resolve(side.key() + ".log");
    }

    private Repetition withKernels(Side side, Repetition repetition, Path folder) throws IOException {
        if (records != Records.KERNELS || repetition.unavailable() != null) {
            return repetition;
        }
        Profile kernels = side.isForeign() ? repetition.profile() : OneDnnLog.read(log(side, folder));
        return repetition.with(kernels.of(Statistics.median(repetition.seconds())));
    }

    private List<String> command(Side side, String classPath, Path folder, Path result, int port) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+IgnoreUnrecognizedVMOptions",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                classPath));
        if (side == Side.DL4J_HELPERS_FP32) {
            command.add("-Dorg.bytedeco.javacpp.platform.extension=-onednn");
            command.add("-Dorg.eclipse.deeplearning4j.helpers.disable=false");
        }
        if (records == Records.WORK) {
            command.add("-D" + ProfiledExecutioner.PROPERTY + "=" + ProfiledExecutioner.class.getName());
        }
        command.add(main(side));
        command.addAll(List.of(folder.toString(), side.key(), result.toString(), Integer.toString(port)));
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
}
