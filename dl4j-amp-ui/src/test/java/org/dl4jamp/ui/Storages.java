package org.dl4jamp.ui;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.BooleanSupplier;
import org.deeplearning4j.core.storage.StatsStorage;
import org.dl4jamp.ui.record.Content;
import org.dl4jamp.ui.record.PlanContent;
import org.dl4jamp.ui.record.SkipContent;
import org.dl4jamp.ui.record.StepContent;
import org.dl4jamp.ui.record.StoredRecord;

/** Reads storages. */
final class Storages {
    private Storages() {}

    static List<String> workers(StatsStorage storage, String session) {
        return storage.listWorkerIDsForSessionAndType(session, StoredRecord.TYPE_ID).stream()
                .sorted()
                .toList();
    }

    private static List<Content> updates(StatsStorage storage, String session, String worker) {
        return storage.getAllUpdatesAfter(session, StoredRecord.TYPE_ID, worker, 0).stream()
                .map(update -> ((StoredRecord) update).content())
                .toList();
    }

    static List<StepContent> steps(StatsStorage storage, String session, String worker) {
        return updates(storage, session, worker).stream()
                .filter(StepContent.class::isInstance)
                .map(StepContent.class::cast)
                .toList();
    }

    static List<SkipContent> skips(StatsStorage storage, String session, String worker) {
        return updates(storage, session, worker).stream()
                .filter(SkipContent.class::isInstance)
                .map(SkipContent.class::cast)
                .toList();
    }

    static PlanContent plan(StatsStorage storage, String session, String worker) {
        return (PlanContent) ((StoredRecord) storage.getStaticInfo(session, StoredRecord.TYPE_ID, worker)).content();
    }

    /** Waits for something that another thread does. */
    static void await(BooleanSupplier condition) throws InterruptedException {
        for (int i = 0; i < 400 && !condition.getAsBoolean(); i++) {
            Thread.sleep(25);
        }
        assertTrue(condition.getAsBoolean(), "after ten seconds");
    }
}
