package org.dl4jamp.listeners;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.dl4jamp.precision.AmpException;
import org.nd4j.shade.jackson.databind.json.JsonMapper;

/**
 * Writes the {@linkplain StepFigures figures} of every few iterations to a file, as CSV or as JSON lines, which are one
 * object a line.
 *
 * <p>Lines that are in the file already stay, so a training that goes on continues its log. Each line is written whole:
 * one that can't be, on a full disk for example, is taken back. Figures that aren't there, such as the loss scale of a
 * network in FP32, are empty in CSV and left out in JSON. NaN and infinity are the words {@code NaN} and
 * {@code Infinity}, in JSON as strings.
 */
public class StepLog extends FiguresListener {
    private static final List<String> COLUMNS = List.of(
            "iteration",
            "epoch",
            "loss",
            "lossScale",
            "stepsTaken",
            "stepsSkipped",
            "secondsPerIteration",
            "examplesPerSecond",
            "memoryBytes");

    private static final JsonMapper JSON = JsonMapper.builder().build();

    /** The form of a line. */
    private enum Form {
        CSV {
            @Override
            String first() {
                return String.join(",", COLUMNS) + "\n";
            }

            @Override
            String line(Map<String, Object> figures) {
                return COLUMNS.stream()
                        .map(name -> String.valueOf(figures.getOrDefault(name, "")))
                        .collect(Collectors.joining(","));
            }
        },
        JSON_LINES {
            @Override
            String first() {
                return "";
            }

            @Override
            String line(Map<String, Object> figures) throws IOException {
                return JSON.writeValueAsString(figures);
            }
        };

        /** Returns what a file begins with, with the end of the line. */
        abstract String first();

        /** Returns the line of some figures by their names, without its end. */
        abstract String line(Map<String, Object> figures) throws IOException;
    }

    /** Opens a file for reading and writing, and makes it if it isn't there. */
    interface Opening {
        SeekableByteChannel open(Path file) throws IOException;
    }

    private final Path file;
    private final Form form;
    private final Opening opening;

    private StepLog(File file, Form form, int interval, Opening opening) {
        super(interval);
        this.file = AmpException.ifNull(file, "file", "the file to write to")
                .toPath()
                .toAbsolutePath();
        this.form = form;
        this.opening = opening;
        check();
    }

    /**
     * Returns a log in CSV, with the names of the figures in its first line.
     *
     * @param file made with the first line, if it isn't there
     * @param interval number of iterations between two lines, at least 1
     * @throws AmpException if the interval is less than 1, or the file can't be written or has other contents
     */
    public static StepLog csv(File file, int interval) {
        return csv(file, interval, StepLog::open);
    }

    static StepLog csv(File file, int interval, Opening opening) {
        return new StepLog(file, Form.CSV, interval, opening);
    }

    /** As {@link #csv(File, int)}, in JSON lines. */
    public static StepLog jsonLines(File file, int interval) {
        return new StepLog(file, Form.JSON_LINES, interval, StepLog::open);
    }

    private static SeekableByteChannel open(Path file) throws IOException {
        return Files.newByteChannel(
                file, Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE));
    }

    /** Refuses a file that can't be written, or isn't such a log. Makes none. */
    private void check() {
        if (!Files.exists(file)) {
            Path folder = file.getParent();
            if (folder == null || !Files.isDirectory(folder) || !Files.isWritable(folder)) {
                throw refusal("its folder isn't there or can't be written to", "make it, or name another file");
            }
            return;
        }
        if (!Files.isRegularFile(file) || !Files.isWritable(file)) {
            throw refusal("it isn't a file, or can't be written to", "name another one");
        }
        try (var lines = Files.newBufferedReader(file)) {
            String line = lines.readLine();
            boolean own = line == null
                    || (form == Form.CSV ? form.first().equals(line + "\n") : line.startsWith("{\"iteration\":"));
            if (!own) {
                throw refusal("its first line isn't that of such a log", "name another file, or move this one away");
            }
        } catch (IOException e) {
            throw new AmpException("file: " + file + " can't be read (" + e + "); name another one", e);
        }
    }

    private AmpException refusal(String why, String advice) {
        return new AmpException("file: " + file + ": " + why + "; " + advice);
    }

    @Override
    protected void report(StepFigures figures) throws IOException {
        try (SeekableByteChannel channel = opening.open(file)) {
            long end = endOfLines(channel);
            try {
                String line = form.line(named(figures)) + "\n";
                channel.truncate(end).position(end);
                ByteBuffer bytes =
                        ByteBuffer.wrap((end == 0 ? form.first() + line : line).getBytes(StandardCharsets.UTF_8));
                while (bytes.hasRemaining()) {
                    channel.write(bytes);
                }
            } catch (IOException e) {
                channel.truncate(end);
                throw e;
            }
        }
    }

    /** Returns where the last whole line ends: a process may have been killed while it wrote one. */
    private static long endOfLines(SeekableByteChannel channel) throws IOException {
        ByteBuffer one = ByteBuffer.allocate(1);
        long end = channel.size();
        while (end > 0) {
            channel.position(end - 1).read(one.clear());
            if (one.get(0) == '\n') {
                return end;
            }
            end--;
        }
        return end;
    }

    private static Map<String, Object> named(StepFigures figures) {
        Map<String, Object> named = new LinkedHashMap<>();
        named.put("iteration", figures.iteration());
        named.put("epoch", figures.epoch());
        named.put("loss", figures.loss());
        figures.lossScale().ifPresent(scale -> named.put("lossScale", scale));
        named.put("stepsTaken", figures.stepsTaken());
        named.put("stepsSkipped", figures.stepsSkipped());
        figures.secondsPerIteration().ifPresent(seconds -> named.put("secondsPerIteration", seconds));
        figures.examplesPerSecond().ifPresent(examples -> named.put("examplesPerSecond", examples));
        named.put("memoryBytes", figures.memoryBytes());
        return named;
    }

    @Override
    public String toString() {
        return super.toString() + " to " + file;
    }
}
