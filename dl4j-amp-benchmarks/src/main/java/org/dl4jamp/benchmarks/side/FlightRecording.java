package org.dl4jamp.benchmarks.side;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/**
 * A flight recording of this process's work events. It has to start before the warm-up: HotSpot compiles code with
 * events again once they're recorded.
 */
final class FlightRecording implements AutoCloseable {
    /** The name of dl4j-amp's events, with the fields kind and what. */
    static final String EVENT = "org.dl4jamp.Work";

    private record Key(String kind, String what) {}

    private record Span(Key key, Instant begin, Duration length) {}

    private final Recording recording = new Recording();
    private final String thread = Thread.currentThread().getName();

    private Instant begin = Instant.MIN;

    FlightRecording() {
        recording.enable(EVENT).withoutThreshold().withoutStackTrace();
        recording.start();
    }

    /** Leaves out what has been recorded so far. */
    void begin() {
        begin = Instant.now();
    }

    /**
     * Ends it.
     *
     * @param steps since {@link #begin}
     * @param seconds that they took
     * @return what this thread has done in them; work within other work counts as that other work
     */
    Profile stop(int steps, double seconds) throws IOException {
        recording.stop();
        Path file = Files.createTempFile("amp-bench-", ".jfr");
        try {
            recording.dump(file);
            return profile(spans(file), steps, seconds);
        } finally {
            Files.delete(file);
        }
    }

    private List<Span> spans(Path file) throws IOException {
        List<Span> spans = new ArrayList<>();
        for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
            if (event.getEventType().getName().equals(EVENT)
                    && event.getStartTime().isAfter(begin)
                    && event.getThread().getJavaName().equals(thread)) {
                Key key = new Key(event.getString("kind"), event.getString("what"));
                spans.add(new Span(key, event.getStartTime(), event.getDuration()));
            }
        }
        spans.sort(Comparator.comparing(Span::begin).thenComparing(Span::length, Comparator.reverseOrder()));
        return spans;
    }

    private static Profile profile(List<Span> spans, int steps, double seconds) {
        Map<Key, List<Duration>> outermost =
                new TreeMap<>(Comparator.comparing(Key::kind).thenComparing(Key::what));
        Instant end = Instant.MIN;
        for (Span span : spans) {
            if (!span.begin().isBefore(end)) {
                outermost.computeIfAbsent(span.key(), key -> new ArrayList<>()).add(span.length());
                end = span.begin().plus(span.length());
            }
        }
        List<Profile.Part> parts = new ArrayList<>();
        outermost.forEach((key, lengths) -> parts.add(new Profile.Part(
                key.kind(),
                key.what(),
                lengths.stream().mapToLong(Duration::toNanos).sum() / 1e9 / steps,
                (double) lengths.size() / steps)));
        parts.sort(Comparator.comparingDouble(Profile.Part::secondsPerStep).reversed());
        return new Profile(seconds / steps, parts);
    }

    @Override
    public void close() {
        recording.close();
    }
}
