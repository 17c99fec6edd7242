package org.dl4jamp.onednn.primitive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Loader;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@link TrainingProgram} in JVMs of its own whose class paths lack something, or have another thing in its place. */
@Tag("long")
class ClassPathTest {
    private static final String PLATFORM = Loader.getPlatform();

    @TempDir
    private Path folder;

    private List<Path> classPath;

    @BeforeEach
    void beginWithTheClassPathOfThisBuild() {
        String entries = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        classPath = new ArrayList<>(Stream.of(entries.split(File.pathSeparator, -1))
                .filter(entry -> !entry.isEmpty())
                .map(entry -> Path.of(entry).toAbsolutePath())
                .toList());
    }

    @Test
    void withAllThatItNeedsTheEngineRuns() throws Exception {
        List<String> output = run();
        assertEquals(
                List.of(),
                output.stream().filter(line -> line.contains("unavailable")).toList());
        assertTrue(
                output.stream().anyMatch(line -> line.startsWith("engine onednn, ") && line.endsWith("learns: true")));
    }

    @Test
    void withoutOneDnnsBindingItSaysWhichDependencyBringsIt() throws Exception {
        drop(jar("dnnl", ""));
        trainsOnAndSays("oneDNN's binding is not on the class path: add org.bytedeco:dnnl:3.");
    }

    @Test
    void withoutOneDnnsNativesItSaysWhichDependencyBringsThem() throws Exception {
        drop(jar("dnnl", PLATFORM));
        trainsOnAndSays(
                "oneDNN's native library for " + PLATFORM + " is not on the class path: add org.bytedeco:dnnl:3.");
    }

    @Test
    void withoutOpenClsBindingItSaysWhichDependencyBringsIt() throws Exception {
        drop(jar("opencl", ""));
        trainsOnAndSays("OpenCL's binding, which oneDNN's loads, is not on the class path: add org.bytedeco:opencl:3.");
    }

    @Test
    void withAnotherJavaCppItSaysWhichOneIsNeeded() throws Exception {
        drop(entry -> entry.getFileName().toString().startsWith("javacpp"));
        try (Stream<Path> older = Files.list(Path.of("target", "older-javacpp"))) {
            older.map(Path::toAbsolutePath).forEach(classPath::add);
        }
        trainsOnAndSays("the JavaCPP on the class path is 1.5.7, and oneDNN's binding takes 1.5.13: add"
                + " org.bytedeco:javacpp:1.5.13");
    }

    @Test
    void whereOneDnnIsDamagedItSaysWhatTheSystemSaid() throws Exception {
        Path natives =
                classPath.stream().filter(jar("dnnl", PLATFORM)).findFirst().orElseThrow();
        classPath.replaceAll(entry -> entry.equals(natives) ? damaged(natives) : entry);
        trainsOnAndSays("oneDNN's native library doesn't load on " + PLATFORM + " (java.lang.UnsatisfiedLinkError: ");
    }

    @ParameterizedTest
    @CsvSource({
        "1.5.7, true",
        "1.4.20, true",
        "1.5.12-SNAPSHOT, true",
        "1.5.13, false",
        "1.5.14-SNAPSHOT, false",
        "1.6, false",
        "unknown, false"
    })
    void onlyAnOlderJavaCppIsRefused(String release, boolean older) {
        assertEquals(older, ClassPathNeeds.isOlder(release, "1.5.13"));
    }

    /**
     * In FP32 with AUTO, and in BFLOAT16 by name on another engine; the engine by name is refused with the same
     * message.
     */
    private void trainsOnAndSays(String reason) throws Exception {
        List<String> output = run();
        String all = String.join("\n", output);

        assertEquals(
                List.of("engine nd4j, FLOAT, learns: true", "engine nd4j, BFLOAT16, learns: true"),
                output.stream().filter(line -> line.startsWith("engine ")).toList(),
                all);
        List<String> logged = output.stream()
                .filter(line -> line.matches(".* (INFO|WARN|ERROR) +org\\.dl4jamp\\..*"))
                .toList();
        assertEquals(1, logged.size(), all);
        assertTrue(logged.get(0).contains("engine \"onednn\" is unavailable: " + reason), all);
        assertTrue(logged.get(0).contains("org.dl4jamp:dl4j-amp-bom:"), all);
        List<String> refused =
                output.stream().filter(line -> line.startsWith("refused: ")).toList();
        assertEquals(1, refused.size(), all);
        assertTrue(refused.get(0).contains("engine(\"onednn\") can't be used here: " + reason), all);
        assertFalse(output.stream().anyMatch(line -> line.startsWith("\tat ")), all);
    }

    private List<String> run() throws Exception {
        Path log = folder.resolve("log.txt");
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+IgnoreUnrecognizedVMOptions",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                // Natives that another JVM extracted would be found there.
                "-Dorg.bytedeco.javacpp.cachedir=" + folder.resolve("natives"),
                "-cp",
                String.join(
                        File.pathSeparator,
                        classPath.stream().map(Path::toString).toList()),
                TrainingProgram.class.getName());
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        assertTrue(process.waitFor(5, TimeUnit.MINUTES), "the other JVM takes too long");
        List<String> output = Files.readAllLines(log);
        assertEquals(0, process.exitValue(), () -> String.join("\n", output));
        return output;
    }

    private void drop(Predicate<Path> entries) {
        assertTrue(classPath.removeIf(entries), () -> "nothing to drop in " + classPath);
    }

    private static Predicate<Path> jar(String artifact, String classifier) {
        String end = classifier.isEmpty() ? "" : "-" + classifier;
        return entry -> entry.getFileName().toString().matches(artifact + "-[0-9.]+-[0-9.]+" + end + "\\.jar");
    }

    /** The same jar with some text in place of its native libraries. */
    private Path damaged(Path jar) {
        Path copy = folder.resolve(jar.getFileName());
        try (JarFile from = new JarFile(jar.toFile());
                JarOutputStream to = new JarOutputStream(Files.newOutputStream(copy))) {
            for (JarEntry entry : Collections.list(from.entries())) {
                if (!entry.isDirectory()) {
                    to.putNextEntry(new JarEntry(entry.getName()));
                    to.write("no library".getBytes(StandardCharsets.UTF_8));
                    to.closeEntry();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return copy;
    }
}
