package org.dl4jamp.benchmarks.process;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.dl4jamp.benchmarks.side.Repetition;
import org.dl4jamp.benchmarks.side.Turns;

/** The running process of a side, which is given {@link Turns}. */
final class SideProcess implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int TAIL_LINES = 15;
    /** The frame of a crash as the JVM writes it, such as {@code # C [libc.so.6+0x1a] name+0x2}. */
    private static final Pattern NATIVE_FRAME = Pattern.compile("# [CV] +\\[([^+\\]]+).*");

    /** Time between two looks at whether the process is alive, while it warms up. */
    private static final int LOOK_MILLIS = 100;

    private final ServerSocket door;
    private final Process process;
    private final Path log;
    private final Path result;
    private final Duration limit;
    private long spentNanos;
    private Socket turns;
    private boolean late;

    /** A command that is told where the process gets its turns. */
    interface Command {
        List<String> of(int port) throws IOException;
    }

    /** Something that a process is waited for in. */
    private interface Wait {
        void until(long endNanos) throws IOException, InterruptedException;
    }

    /**
     * Starts it.
     *
     * @param builder its environment
     * @param log where its output goes
     * @param result where it writes its figures
     * @param limit the most time that it runs, without that in which it waits for turns
     */
    SideProcess(ProcessBuilder builder, Command command, Path log, Path result, Duration limit) throws IOException {
        this.log = log;
        this.result = result;
        this.limit = limit;
        Files.deleteIfExists(result);
        door = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        try {
            process = builder.command(command.of(door.getLocalPort()))
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
        } catch (IOException | RuntimeException e) {
            door.close();
            throw e;
        }
    }

    /** Waits until it is warm, or has ended. */
    void warmUp() throws IOException, InterruptedException {
        await(end -> {
            door.setSoTimeout(LOOK_MILLIS);
            while (turns == null && process.isAlive() && System.nanoTime() < end) {
                turns = accepted();
            }
            late = process.isAlive() && System.nanoTime() >= end;
        });
    }

    private Socket accepted() throws IOException {
        try {
            return door.accept();
        } catch (SocketTimeoutException e) {
            return null;
        }
    }

    /** Gives it a turn, and waits for its end or that of the process. */
    void turn() throws IOException, InterruptedException {
        await(end -> {
            turns.setSoTimeout((int) Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())));
            try {
                turns.getOutputStream().write(1);
                if (turns.getInputStream().read() < 0) {
                    exit(end);
                }
            } catch (SocketTimeoutException e) {
                late = true;
            } catch (SocketException e) {
                // A process that crashes resets its connection. How it ended is in its exit status and its log.
                exit(end);
            }
        });
    }

    /** Returns whether it waits for a turn. */
    boolean waits() {
        return turns != null && !late && process.isAlive();
    }

    private void exit(long end) throws InterruptedException {
        late = !process.waitFor(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
    }

    private void await(Wait wait) throws IOException, InterruptedException {
        long begin = System.nanoTime();
        wait.until(begin + limit.toNanos() - spentNanos);
        spentNanos += System.nanoTime() - begin;
        if (late) {
            process.destroyForcibly();
        }
    }

    /** Returns the figures of a process that has ended; if it failed or took too long, why, with the end of its log. */
    Repetition result() throws IOException {
        if (late) {
            return Repetition.unavailable("a repetition took longer than " + limit.toSeconds() + " s (--time-limit)");
        }
        if (process.exitValue() != 0 || Files.notExists(result)) {
            List<String> lines = lines();
            String end = crashed(lines)
                    .map(library -> "crashed in " + library)
                    .orElseGet(() -> "ended with " + process.exitValue());
            return Repetition.unavailable("its process " + end + ":\n" + tail(lines));
        }
        return JSON.readValue(result.toFile(), Repetition.class);
    }

    private List<String> lines() throws IOException {
        return new String(Files.readAllBytes(log), StandardCharsets.UTF_8)
                .lines()
                .toList();
    }

    /** Returns the native library in which the JVM says that it crashed. */
    private static Optional<String> crashed(List<String> lines) {
        return lines.stream()
                .map(NATIVE_FRAME::matcher)
                .filter(Matcher::matches)
                .map(frame -> frame.group(1))
                .findFirst();
    }

    private static String tail(List<String> lines) {
        return String.join("\n", lines.subList(Math.max(0, lines.size() - TAIL_LINES), lines.size()));
    }

    /** Ends it, if it still runs. */
    @Override
    public void close() throws IOException, InterruptedException {
        process.destroyForcibly().waitFor();
        door.close();
        if (turns != null) {
            turns.close();
        }
    }
}
