package org.dl4jamp.benchmarks.side;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class TurnsTest {
    private final List<String> events = new ArrayList<>();

    private final Turns recorded = new Turns() {
        @Override
        public void begin() {
            events.add("begin");
        }

        @Override
        public void end() {
            events.add("end");
        }

        @Override
        public void close() {}
    };

    private final Training training = new Training() {
        private int steps;

        @Override
        public double step() {
            events.add("step");
            return ++steps;
        }

        @Override
        public void recordKernels(boolean begins) {
            events.add(begins ? "recorded" : "alone");
        }

        @Override
        public OptionalLong activationBytes() {
            return OptionalLong.empty();
        }

        @Override
        public void close() {}
    };

    @Test
    void stepsAreSharedAmongTurnsAfterTheWarmUp() throws IOException {
        Repetition repetition = new Stopwatch(Records.NOTHING, recorded).run(training, new Schedule(1, 0, 5, 0, 3));
        assertEquals(
                List.of(
                        "step", "begin", "step", "step", "end", "begin", "step", "step", "end", "begin", "step",
                        "step"),
                events.subList(events.indexOf("begin") - 1, events.size()));
        assertEquals(6, repetition.steps());
    }

    @Test
    void kernelsAreRecordedInOneTurn() throws IOException {
        new Stopwatch(Records.KERNELS, recorded).run(training, new Schedule(1, 0, 1, 0, 1));
        assertEquals(
                List.of("begin", "step", "recorded", "step", "alone"),
                events.subList(events.indexOf("begin"), events.size()));
    }

    @Test
    void anotherProcessGivesTurns() throws Exception {
        try (ServerSocket door = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Turns turns = Turns.given(door.getLocalPort())) {
            CompletableFuture<Void> side = CompletableFuture.runAsync(() -> {
                try {
                    turns.begin();
                    events.add("measured");
                    turns.end();
                    turns.begin();
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            });
            try (Socket socket = door.accept()) {
                assertEquals(List.of(), events);
                socket.getOutputStream().write(1);
                assertEquals(1, socket.getInputStream().read());
                assertEquals(List.of("measured"), events);
                socket.getOutputStream().write(1);
                side.get(30, TimeUnit.SECONDS);
            }
            EOFException ended = assertThrows(EOFException.class, turns::begin);
            assertEquals("the benchmark ended before this process had all its turns", ended.getMessage());
        }
    }
}
