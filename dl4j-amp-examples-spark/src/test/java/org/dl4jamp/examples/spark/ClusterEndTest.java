package org.dl4jamp.examples.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The cluster's processes and files are gone when whoever started it is. */
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ClusterEndTest {
    @Test
    void closedClusterLeavesNothing() throws Exception {
        LoopbackCluster cluster = LoopbackCluster.start(2);
        List<ProcessHandle> processes = cluster.processes();
        assertEquals(3, processes.size());
        assertTrue(Files.exists(cluster.folder()));
        cluster.close();
        processes.forEach(process -> assertFalse(process.isAlive(), process::toString));
        assertTrue(Files.notExists(cluster.folder()));
    }

    @Test
    void clusterWhoseStarterIsKilledLeavesNothingEither() throws Exception {
        Process starter = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        ClassPath.entries().stream()
                                .map(Path::toString)
                                .collect(Collectors.joining(File.pathSeparator)),
                        KilledStarter.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        List<String> lines = new ArrayList<>();
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(starter.getInputStream(), StandardCharsets.UTF_8))) {
            String line = out.readLine();
            while (line != null && !line.equals(KilledStarter.LAST_LINE)) {
                lines.add(line);
                line = out.readLine();
            }
            assertEquals(4, lines.size(), lines::toString);
        } finally {
            starter.destroyForcibly();
        }
        Path folder = Path.of(lines.get(0));
        while (lines.stream().skip(1).anyMatch(ClusterEndTest::isAlive) || Files.exists(folder)) {
            Thread.sleep(100);
        }
    }

    private static boolean isAlive(String pid) {
        return ProcessHandle.of(Long.parseLong(pid)).map(ProcessHandle::isAlive).orElse(false);
    }
}
