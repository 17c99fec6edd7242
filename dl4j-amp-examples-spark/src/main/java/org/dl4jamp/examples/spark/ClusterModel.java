package org.dl4jamp.examples.spark;

/**
 * What a step of parameter averaging costs. All executors take {@code frequency} steps, then parameters and updater
 * state go to the driver and back to all:
 *
 * <pre>
 * split = frequency · step + overhead + (broadcast + aggregation) · state / bandwidth
 * </pre>
 *
 * <p>Spark's broadcast hands pieces on from executor to executor, so its time is that of two copies on one link
 * whatever their number; results are added up in a tree of two levels where there are more than five of them, as
 * {@code RDD.treeAggregate} does, and on the driver's link alone where there are less. Half precision makes
 * {@code step} shorter and nothing else: parameters and updater state stay FP32.
 *
 * @param frequency steps between two averagings
 * @param stateBytes bytes of parameters and updater state
 * @param overheadSeconds what Spark takes for a split in which nothing is computed and next to nothing is sent
 */
record ClusterModel(int frequency, long stateBytes, double overheadSeconds) {
    /**
     * Returns how long a split takes.
     *
     * @param executors how many train, each with one worker
     * @param stepSeconds time of a step on one of them
     * @param bytesPerSecond of each machine's link; infinite for none
     */
    double splitSeconds(int executors, double stepSeconds, double bytesPerSecond) {
        double copies = Math.min(executors, 2) + aggregatedCopies(executors);
        return frequency * stepSeconds + overheadSeconds + copies * stateBytes / bytesPerSecond;
    }

    /**
     * Returns how many copies of the state go through the busiest links, one after another, until one is left on the driver.
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
