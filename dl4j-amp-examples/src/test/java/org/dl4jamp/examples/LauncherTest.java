package org.dl4jamp.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** The launcher {@code amp}, in a folder in which everything is built already. */
@EnabledOnOs(value = OS.LINUX, disabledReason = "it needs bash, and locales of Linux")
class LauncherTest {
    @TempDir
    private Path folder;

    private Path root;

    @BeforeEach
    void makeAClone() throws IOException {
        root = folder.resolve("clone");
        Path target = Files.createDirectories(root.resolve("dl4j-amp-examples/target"));
        Files.createDirectories(root.resolve("dl4j-amp-examples/src/main"));
        Files.createFile(root.resolve("dl4j-amp-examples/pom.xml"));
        Files.createFile(root.resolve("pom.xml"));
        Files.copy(Path.of("../amp"), root.resolve("amp"));
        Files.createSymbolicLink(
                target.resolve("classes"), Path.of("target/classes").toAbsolutePath());
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        String entries = Stream.of(classPath.split(File.pathSeparator))
                .filter(entry -> !entry.isEmpty() && Files.exists(Path.of(entry)))
                .collect(Collectors.joining(File.pathSeparator));
        Files.writeString(target.resolve("classpath.txt"), entries);
        Files.createFile(target.resolve("amp-built"));
    }

    /** Runs {@code amp --version} in the clone, under a name that is changed to first. */
    private String version(String name, Map<String, String> environment) throws IOException, InterruptedException {
        return amp(name, "--version", environment);
    }

    private String amp(String name, String arguments, Map<String, String> environment)
            throws IOException, InterruptedException {
        File output = folder.resolve("output").toFile();
        // The name as printf has it, in bytes.
        ProcessBuilder builder = new ProcessBuilder(
                "bash",
                "-c",
                "d=$(printf '" + name + "'); mv clone \"$d\" && \"./$d/amp\" " + arguments + "; code=$?;"
                        + " mv \"$d\" clone; exit $code");
        builder.directory(folder.toFile()).redirectErrorStream(true).redirectOutput(output);
        builder.environment().remove("LANG");
        builder.environment().remove("LC_CTYPE");
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
        builder.environment().putAll(environment);
        Process process = builder.start();
        assertTrue(process.waitFor(120, TimeUnit.SECONDS));
        return process.exitValue() + " " + Files.readString(output.toPath(), StandardCharsets.UTF_8);
    }

    @Test
    void itRunsInAFolderWithUmlautsUnderAnyLocale() throws Exception {
        for (String locale : new String[] {"C", "C.UTF-8"}) {
            String result = version("d\\303\\244mp", Map.of("LC_ALL", locale));
            assertTrue(result.startsWith("0 dl4j-amp "), locale + ": " + result);
        }
    }

    @Test
    void whereThereIsNoLocaleForItTheMessageSaysWhatToSet() throws Exception {
        Path bin = Files.createDirectories(folder.resolve("bin"));
        Path locale = Files.writeString(bin.resolve("locale"), "#!/bin/sh\necho ANSI_X3.4-1968\n");
        assertTrue(locale.toFile().setExecutable(true));
        String path = bin + File.pathSeparator + System.getenv("PATH");
        String result = version("d\\303\\244mp", Map.of("LC_ALL", "C", "PATH", path));
        assertTrue(result.startsWith("1 amp: Java can't read all letters of "), result);
        assertTrue(result.contains("set LC_ALL to a locale with UTF-8"), result);
        assertEquals(1, result.lines().count(), result);
        String ascii = version("damp", Map.of("LC_ALL", "C", "PATH", path));
        assertTrue(ascii.startsWith("0 dl4j-amp "), ascii);
    }

    @Test
    void withoutFontsTheSineNetworkIsTrainedAllTheSameAndNoImageDrawn() throws Exception {
        Path broken = Files.createDirectories(folder.resolve("broken/sun/font"));
        Files.writeString(broken.resolve("SunFontManager.class"), "a library of fonts that can't be loaded");
        String result = amp(
                "clone2",
                "sine --size 4 --hidden 2 --iterations 2 --image \"$PWD/sine.png\"",
                Map.of("AMP_JAVA_OPTS", "--patch-module java.desktop=" + folder.resolve("broken")));
        assertTrue(result.startsWith("0 "), result);
        assertTrue(result.contains("time per iteration"), result);
        assertTrue(
                result.contains("Image: none, because Java finds no fonts here (java.lang.ClassFormatError"), result);
        assertFalse(Files.exists(folder.resolve("sine.png")));
    }
}
