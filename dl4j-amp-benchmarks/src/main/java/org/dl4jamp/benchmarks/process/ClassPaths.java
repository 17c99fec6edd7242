package org.dl4jamp.benchmarks.process;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.dl4jamp.benchmarks.side.UnavailableException;

/**
 * The class paths of the sides' processes.
 *
 * @param own this process's class path, with DL4J, our engine and oneDNN
 * @param pytorch the build folder of the module with PyTorch's sides, or null
 * @param onnxRuntime the build folder of the module with ONNX Runtime's side, or null
 * @param helpers a folder with ND4J's build with oneDNN, or null
 */
public record ClassPaths(String own, Path pytorch, Path onnxRuntime, Path helpers) {
    /** System property that names {@link #pytorch}; the launcher sets it. */
    public static final String PYTORCH_PROPERTY = "amp.bench.pytorch";

    /** System property that names {@link #onnxRuntime}; the launcher sets it. */
    public static final String ONNX_RUNTIME_PROPERTY = "amp.bench.onnxruntime";

    /** System property that names {@link #helpers}; the launcher sets it. */
    public static final String HELPERS_PROPERTY = "amp.bench.helpers";

    private static final String CLASS_PATH_FILE = "classpath.txt";

    public static ClassPaths ofThisProcess() {
        return new ClassPaths(
                System.getProperty("java.class.path"),
                folder(PYTORCH_PROPERTY),
                folder(ONNX_RUNTIME_PROPERTY),
                folder(HELPERS_PROPERTY));
    }

    private static Path folder(String property) {
        String name = System.getProperty(property);
        return name == null ? null : Path.of(name);
    }

    /**
     * Returns the class path of a side.
     *
     * @throws UnavailableException if a part of it is missing
     */
    public String of(Side side) throws IOException {
        if (side.isPyTorch()) {
            return ofModule("dl4j-amp-benchmarks-pytorch", pytorch, PYTORCH_PROPERTY);
        }
        if (side == Side.ONNX_RUNTIME_FP32) {
            return ofModule("dl4j-amp-benchmarks-onnxruntime", onnxRuntime, ONNX_RUNTIME_PROPERTY);
        }
        return side == Side.DL4J_HELPERS_FP32 ? own + File.pathSeparator + helperJars() : own;
    }

    private static String ofModule(String module, Path folder, String property) throws IOException {
        if (folder == null || !Files.exists(folder.resolve(CLASS_PATH_FILE))) {
            throw new UnavailableException("the module " + module + " isn't built, or the system property " + property
                    + " doesn't name its build folder");
        }
        return folder.resolve("classes")
                + File.pathSeparator
                + Files.readString(folder.resolve(CLASS_PATH_FILE)).trim();
    }

    private String helperJars() throws IOException {
        List<Path> jars = List.of();
        if (helpers != null && Files.isDirectory(helpers)) {
            try (Stream<Path> files = Files.list(helpers)) {
                jars = files.filter(file -> file.toString().endsWith(".jar")).toList();
            }
        }
        if (jars.isEmpty()) {
            throw new UnavailableException(
                    "ND4J's build with oneDNN isn't there: the build fetches it on Linux x86-64 only, and the system"
                            + " property "
                            + HELPERS_PROPERTY + " has to name its folder");
        }
        return jars.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
    }
}
