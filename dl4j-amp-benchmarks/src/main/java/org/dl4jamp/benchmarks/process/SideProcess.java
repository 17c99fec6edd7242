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
import java.util.concurrent.TimeUnit;
import org.dl4jamp.benchmarks.side.Repetition;
import org.dl4jamp.benchmarks.side.Turns;

/** The running process of a side, which is given {@link Turns}. */
final class SideProcess implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int TAIL_LINES = 15;
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
            return Repetition.unavailable("its process ended with " + process.exitValue() + ":\n" + tail());
        }
        return JSON.readValue(result.toFile(), Repetition.class);
    }

    private String tail() throws IOException {
        List<String> lines = new String(Files.readAllBytes(log), StandardCharsets.UTF_8)
                .lines()
                .toList();
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
