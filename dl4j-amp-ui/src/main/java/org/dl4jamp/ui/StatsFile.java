package org.dl4jamp.ui;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.deeplearning4j.core.storage.StatsStorage;
import org.deeplearning4j.ui.model.storage.FileStatsStorage;
import org.dl4jamp.precision.AmpException;

/** Files of DL4J's {@code FileStatsStorage}. */
final class StatsFile {
    private StatsFile() {}

    /**
     * Opens a file, and reads all of it once.
     *
     * @throws AmpException if it isn't there, is open elsewhere, or isn't a whole file of statistics
     */
    static StatsStorage open(File file) {
        AmpException.ifNull(file, "file", "a file that a FileStatsStorage has written");
        // FileStatsStorage would make a new one.
        if (!file.isFile()) {
            throw new AmpException(
                    "attach: there is no file " + file + "; give one that a FileStatsStorage has written");
        }
        StatsStorage storage = null;
        try {
            storage = new FileStatsStorage(file);
            read(storage);
            return storage;
        } catch (RuntimeException | LinkageError | AssertionError e) {
            close(storage);
            throw refused(file, e);
        }
    }

    private static void read(StatsStorage storage) {
        for (String session : storage.listSessionIDs()) {
            for (String type : storage.listTypeIDsForSession(session)) {
                for (String worker : storage.listWorkerIDsForSessionAndType(session, type)) {
                    storage.getStaticInfo(session, type, worker);
                    storage.getAllUpdatesAfter(session, type, worker, Long.MIN_VALUE);
                }
            }
        }
    }

    private static AmpException refused(File file, Throwable failure) {
        String name = failure.getClass().getSimpleName();
        String what = name.equals("FileLocked")
                ? "another program has it open, such as the training that writes it; wait until that has ended"
                : "it's cut off, or no file that a FileStatsStorage has written (" + name
                        + "); take a whole copy of it";
        return new AmpException("attach: " + file + ": " + what, failure);
    }

    static void close(StatsStorage storage) {
        try {
            if (storage != null && !storage.isClosed()) {
                storage.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
