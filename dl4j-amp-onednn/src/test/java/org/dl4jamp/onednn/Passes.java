package org.dl4jamp.onednn;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.dl4jamp.engine.WorkEvent;

/** The primitives that run, from Java's flight recorder. */
public final class Passes {
    private Passes() {}

    /** Returns the primitives that ran meanwhile: layer, primitive and shapes of each, without copies. */
    public static List<String> of(Runnable action) {
        return of(action, WorkEvent.PRIMITIVE);
    }

    /** Returns the copies that ran meanwhile, from one type or order in memory to another. */
    public static List<String> copies(Runnable action) {
        return of(action, WorkEvent.COPY);
    }

    private static List<String> of(Runnable action, String kind) {
        try (Recording recording = new Recording()) {
            recording.enable(WorkEvent.NAME).withoutThreshold();
            recording.start();
            action.run();
            recording.stop();
            Path file = Files.createTempFile("passes", ".jfr");
            try {
                recording.dump(file);
                return RecordingFile.readAllEvents(file).stream()
                        .filter(event -> event.getEventType().getName().equals(WorkEvent.NAME))
                        .filter(event -> event.getString("kind").equals(kind))
                        .map(event -> event.getString("what"))
                        .toList();
            } finally {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
