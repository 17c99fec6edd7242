package org.dl4jamp.ui.server;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.deeplearning4j.core.storage.Persistable;
import org.deeplearning4j.core.storage.StatsStorage;
import org.dl4jamp.ui.record.Content;
import org.dl4jamp.ui.record.PlanContent;
import org.dl4jamp.ui.record.StoredRecord;

/** The sessions in the storages that are attached to the server, as JSON. Thread-safe. */
final class Sessions {
    /** Steps in one answer, at most; of more some are left out, evenly. */
    private static final int MOST_STEPS = 300;

    /** Skipped steps in one answer, at most: the last ones. */
    private static final int MOST_SKIPS = 300;

    private final List<StatsStorage> storages = new CopyOnWriteArrayList<>();

    void add(StatsStorage storage) {
        storages.add(storage);
    }

    void remove(StatsStorage storage) {
        storages.removeIf(other -> other == storage);
    }

    private List<StatsStorage> open() {
        return storages.stream().filter(storage -> !storage.isClosed()).toList();
    }

    /** Returns the sessions, the one with the last report first, and the workers of each. */
    JsonObject list() {
        Map<String, Map<String, Long>> workersOfSessions = new TreeMap<>();
        for (StatsStorage storage : open()) {
            for (String session : storage.listSessionIDs()) {
                for (String worker : storage.listWorkerIDsForSessionAndType(session, StoredRecord.TYPE_ID)) {
                    workersOfSessions
                            .computeIfAbsent(session, id -> new TreeMap<>())
                            .merge(worker, lastTime(storage, session, worker), Math::max);
                }
            }
        }
        List<JsonObject> sessions = new ArrayList<>();
        workersOfSessions.forEach((session, workers) -> sessions.add(session(session, workers)));
        sessions.sort(Comparator.comparing(session -> -session.getLong("last")));
        return new JsonObject().put("sessions", new JsonArray(sessions));
    }

    private static JsonObject session(String id, Map<String, Long> lastTimes) {
        JsonArray workers = new JsonArray();
        lastTimes.forEach(
                (worker, last) -> workers.add(new JsonObject().put("id", worker).put("last", last)));
        long last = lastTimes.values().stream().reduce(0L, Math::max);
        return new JsonObject().put("id", id).put("last", last).put("workers", workers);
    }

    private static long lastTime(StatsStorage storage, String session, String worker) {
        long[] times = storage.getAllUpdateTimes(session, StoredRecord.TYPE_ID, worker);
        return times.length == 0 ? 0 : times[times.length - 1];
    }

    /**
     * Returns the reports of a worker after a time, and its plan if it's from later. None if there is no such worker.
     *
     * @param withLayers whether with the numbers of layers
     */
    JsonObject updates(String session, String worker, long since, boolean withLayers) {
        JsonObject answer = new JsonObject().put("last", since);
        JsonArray steps = new JsonArray();
        JsonArray skips = new JsonArray();
        storage(session, worker).ifPresent(storage -> {
            StoredRecord plan = (StoredRecord) storage.getStaticInfo(session, StoredRecord.TYPE_ID, worker);
            long[] times = Arrays.stream(storage.getAllUpdateTimes(session, StoredRecord.TYPE_ID, worker))
                    .filter(time -> time > since)
                    .toArray();
            if (times.length > 0) {
                answer.put("last", times[times.length - 1]);
            }
            List<StoredRecord> records = records(storage.getUpdates(session, StoredRecord.TYPE_ID, worker, times));
            RecordJson json = new RecordJson((PlanContent) plan.content(), withLayers);
            thinned(of(Content.Kind.STEP, records)).forEach(step -> steps.add(json.step(step)));
            List<StoredRecord> all = of(Content.Kind.SKIP, records);
            all.subList(Math.max(0, all.size() - MOST_SKIPS), all.size()).forEach(skip -> skips.add(json.skip(skip)));
            if (plan.getTimeStamp() > since) {
                answer.put("plan", json.plan());
            }
        });
        return answer.put("steps", steps).put("skips", skips);
    }

    private Optional<StatsStorage> storage(String session, String worker) {
        return open().stream()
                .filter(storage -> storage.getStaticInfo(session, StoredRecord.TYPE_ID, worker) != null)
                .findFirst();
    }

    private static List<StoredRecord> records(List<Persistable> updates) {
        return updates.stream()
                .filter(StoredRecord.class::isInstance)
                .map(StoredRecord.class::cast)
                .toList();
    }

    private static List<StoredRecord> of(Content.Kind kind, List<StoredRecord> records) {
        return records.stream().filter(record -> record.kind() == kind).toList();
    }

    /** Returns some records, evenly spaced, with the last one. */
    private static List<StoredRecord> thinned(List<StoredRecord> records) {
        int step = (records.size() + MOST_STEPS - 1) / MOST_STEPS;
        List<StoredRecord> some = new ArrayList<>();
        for (int i = 0; i < records.size(); i++) {
            if ((records.size() - 1 - i) % step == 0) {
                some.add(records.get(i));
            }
        }
        return some;
    }
}
