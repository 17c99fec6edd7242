package org.dl4jamp.spark;

import java.io.Serializable;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The number of last steps that were skipped in a row, at the end of a stage. Each part of the data and each executor
 * has a number of its own: one that skips every step is found, though all others train.
 *
 * @param ofAll the number that all tasks of the last stage have reached
 * @param ofPartitions by Spark's number of the part; empty where networks live on in their executors
 * @param ofExecutors by Spark's name of the executor; the lowest of its tasks
 */
record SkipsInARow(int ofAll, Map<Integer, Integer> ofPartitions, Map<String, Integer> ofExecutors)
        implements Serializable {
    /** Before any step. */
    static final SkipsInARow NONE = ofAll(0);

    SkipsInARow {
        ofPartitions = Map.copyOf(ofPartitions);
        ofExecutors = Map.copyOf(ofExecutors);
    }

    /** Returns the same number for all, as a training begins with that goes on from a state. */
    static SkipsInARow ofAll(int skips) {
        return new SkipsInARow(skips, Map.of(), Map.of());
    }

    /**
     * Returns the numbers after one more stage.
     *
     * @param last the last report of each worker
     */
    SkipsInARow then(Collection<TaskReport> last) {
        Map<Integer, Integer> partitions = new HashMap<>(ofPartitions);
        last.stream()
                .filter(report -> !report.livesOn())
                .forEach(report -> partitions.put(report.partition(), skips(report)));
        Map<String, Integer> executors = new HashMap<>(ofExecutors);
        executors.putAll(last.stream().collect(Collectors.toMap(TaskReport::executor, SkipsInARow::skips, Math::min)));
        return new SkipsInARow(last.stream().mapToInt(SkipsInARow::skips).min().orElse(ofAll), partitions, executors);
    }

    private static int skips(TaskReport report) {
        return report.end().consecutiveSkips();
    }

    /** Returns the number that a task begins with: that of its part of the data, or of its executor if it's larger. */
    int of(int partition, String executor) {
        return Math.max(ofPartitions.getOrDefault(partition, ofAll), ofExecutors.getOrDefault(executor, ofAll));
    }
}
