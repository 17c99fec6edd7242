package org.dl4jamp.benchmarks.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.dl4jamp.benchmarks.side.Repetition;
import org.dl4jamp.benchmarks.side.Turns;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class SideProcessTest {
    @TempDir
    private Path folder;

    /** An address without memory. */
    private static final class NoMemory extends Pointer {
        NoMemory() {
            address = 8;
        }
    }

    /** A side of two turns. */
    static final class TwoTurns {
        private TwoTurns() {}

        /**
         * Takes its turns.
         *
         * @param args what it does in the first, the port of its turns, and the file for its result
         */
        public static void main(String[] args) throws Exception {
            if (args[0].equals("fails at once")) {
                throw new IllegalStateException("no such case");
            }
            try (Turns turns = Turns.given(Integer.parseInt(args[1]))) {
                turns.begin();
                switch (args[0]) {
                    case "fails" -> throw new IllegalStateException("no memory for the second turn");
                    case "crashes" -> Runtime.getRuntime().halt(9);
                    case "crashes in native code" -> Pointer.memset(new NoMemory(), 1, 8);
                    case "hangs" -> Thread.sleep(Long.MAX_VALUE);
                    default -> turns.end();
                }
                turns.begin();
                new ObjectMapper().writeValue(Path.of(args[2]).toFile(), Repetition.unavailable("all is well"));
            }
        }
    }

    private SideProcess start(String what, Duration limit) throws IOException {
        Path result = folder.resolve("result.json");
        return new SideProcess(
                new ProcessBuilder(),
                port -> List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:ErrorFile=" + folder.resolve("crash.log"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        TwoTurns.class.getName(),
                        what,
                        Integer.toString(port),
                        result.toString()),
                folder.resolve("log"),
                result,
                limit);
    }

    @Test
    void itMeasuresInItsTurnsAndWaitsBetweenThem() throws Exception {
        try (SideProcess process = start("goes on", Duration.ofMinutes(1))) {
            process.warmUp();
            assertTrue(process.waits());
            process.turn();
            assertTrue(process.waits());
            process.turn();
            assertFalse(process.waits());
            assertEquals("all is well", process.result().unavailable());
        }
    }

    /** A side that waits for a long time for others isn't late. */
    @Test
    void waitingForATurnDoesntCount() throws Exception {
        Duration limit = Duration.ofSeconds(8);
        try (SideProcess process = start("goes on", limit)) {
            process.warmUp();
            Thread.sleep(limit.toMillis());
            process.turn();
            process.turn();
            assertEquals("all is well", process.result().unavailable());
        }
    }

    @Test
    void oneThatEndsEarlySaysWhy() throws Exception {
        try (SideProcess process = start("fails at once", Duration.ofMinutes(1))) {
            process.warmUp();
            assertFalse(process.waits());
            assertSays(process, "its process ended with 1:", "no such case");
        }
        try (SideProcess process = start("fails", Duration.ofMinutes(1))) {
            process.warmUp();
            process.turn();
            assertFalse(process.waits());
            assertSays(process, "its process ended with 1:", "no memory for the second turn");
        }
        try (SideProcess process = start("crashes", Duration.ofMinutes(1))) {
            process.warmUp();
            process.turn();
            assertFalse(process.waits());
            assertSays(process, "its process ended with 9:", "");
        }
        try (SideProcess process = start("crashes in native code", Duration.ofMinutes(1))) {
            process.warmUp();
            process.turn();
            assertFalse(process.waits());
            assertSays(process, "its process crashed in lib", "Problematic frame");
        }
    }

    @Test
    void oneThatTakesTooLongIsEnded() throws Exception {
        try (SideProcess process = start("hangs", Duration.ofSeconds(5))) {
            process.warmUp();
            process.turn();
            assertFalse(process.waits());
            assertSays(process, "a repetition took longer than 5 s (--time-limit)", "");
        }
        try (SideProcess process = start("goes on", Duration.ofMillis(1))) {
            process.warmUp();
            assertFalse(process.waits());
            assertSays(process, "a repetition took longer than 0 s (--time-limit)", "");
        }
    }

    private static void assertSays(SideProcess process, String begin, String part) throws IOException {
        String reason = process.result().unavailable();
        assertTrue(reason.startsWith(begin), reason);
        assertTrue(reason.contains(part), reason);
    }
}
