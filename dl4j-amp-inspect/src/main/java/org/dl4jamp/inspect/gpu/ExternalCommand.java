package org.dl4jamp.inspect.gpu;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a program of the system for a short time. */
@FunctionalInterface
interface ExternalCommand {
    /** The outcome of a run. */
    enum Outcome {
        /** There is no such program. */
        ABSENT,
        /** It ended by itself. */
        ENDED,
        /** It was stopped after its time. */
        STOPPED
    }

    /** The outcome with the exit code, of a program that ended, and the lines of both its outputs that aren't empty. */
    record Result(Outcome outcome, int exitCode, List<String> lines) {}

    /** Runs a program with arguments, and stops it when its time is over. */
    Result run(List<String> command, Duration limit);

    /** Runs programs of this system. */
    ExternalCommand SYSTEM = ExternalCommand::runHere;

    private static Result runHere(List<String> command, Duration limit) {
        Path output = null;
        Process process = null;
        try {
            // A file and no pipe: a program that hangs would be waited for while its pipe is read.
            output = Files.createTempFile("amp-command", ".txt");
            try {
                process = new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
            } catch (IOException e) {
                return new Result(Outcome.ABSENT, -1, List.of(e.getMessage()));
            }
            boolean ended = process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
            String text = new String(Files.readAllBytes(output), StandardCharsets.UTF_8);
            List<String> lines = text.lines()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty())
                    .toList();
            return ended
                    ? new Result(Outcome.ENDED, process.exitValue(), lines)
                    : new Result(Outcome.STOPPED, -1, lines);
        } catch (IOException e) {
            return new Result(Outcome.STOPPED, -1, List.of(e.toString()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Result(Outcome.STOPPED, -1, List.of());
        } finally {
            if (process != null) {
                process.destroyForcibly();
            }
            delete(output);
        }
    }

    private static void delete(Path file) {
        if (file != null && !file.toFile().delete()) {
            file.toFile().deleteOnExit();
        }
    }
}
