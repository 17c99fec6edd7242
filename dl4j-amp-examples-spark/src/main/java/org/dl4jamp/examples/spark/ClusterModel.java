package org.dl4jamp.examples.spark;

/**
 * A model of the cost of a step of parameter averaging. All executors take {@code frequency} steps, then parameters and
 * updater state go to the driver and back to all:
 *
 * <pre>
 * split = frequency · step + overhead + (broadcast + aggregation) · state / bandwidth
 * </pre>
 *
 * <p>Spark's broadcast passes pieces from executor to executor, so its time is that of two copies on one link whatever
 * their number. More than five results are added up in a tree of two levels, as {@code RDD.treeAggregate} does, and
 * fewer on the driver's link alone. Half precision makes {@code step} shorter and nothing else: parameters and updater
 * state stay FP32.
 *
 * @param frequency steps between two averagings
 * @param stateBytes bytes of parameters and updater state
 * @param overheadSeconds Spark's time for a split in which nothing is computed and next to nothing is sent
 */
record ClusterModel(int frequency, long stateBytes, double overheadSeconds) {
    /**
     * Returns how long a split takes.
     *
     * @param executors number of executors, each with one worker
     * @param stepSeconds time of a step on one of them
     * @param bytesPerSecond of each machine's link; infinite for none
     */
    double splitSeconds(int executors, double stepSeconds, double bytesPerSecond) {
        double copies = Math.min(executors, 2) + aggregatedCopies(executors);
        return frequency * stepSeconds + overheadSeconds + copies * stateBytes / bytesPerSecond;
    }

    /**
     * Returns how many copies of the state go through the busiest links, one after another, until one is left on the
     * driver.
     */
    static double aggregatedCopies(int executors) {
        int parts = executors;
        int scale = Math.max((int) Math.ceil(Math.sqrt(parts)), 2);
        double copies = 0;
        while (parts > scale + Math.ceil((double) parts / scale)) {
            int next = parts / scale;
            copies += Math.ceil((double) parts / next);
            parts = next;
        }
        return copies + parts;
    }

    /** Steps of all executors together in a second. */
    double stepsPerSecond(int executors, double stepSeconds, double bytesPerSecond) {
        return executors * frequency / splitSeconds(executors, stepSeconds, bytesPerSecond);
    }
}
