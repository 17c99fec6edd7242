package org.dl4jamp.examples.digits;

import java.util.List;

/**
 * The output of {@code amp parallel --json}.
 *
 * @param workers number of replicas
 * @param mode DL4J's training mode
 * @param fp32 in FP32, as DL4J trains
 * @param amp in mixed precision
 * @param replicas of the last training in mixed precision, by index
 */
record ParallelFigures(int workers, String mode, Side fp32, Side amp, List<Replica> replicas) {
    /**
     * The medians of the runs of one side.
     *
     * @param accuracy part of the test images that were recognized, from 0 to 1
     * @param loss mean cross entropy of the test images
     * @param seconds time of the training
     */
    record Side(double accuracy, double loss, double seconds) {}

    /** One replica. */
    record Replica(int index, String precision, String engine, double lossScale, long stepsTaken, long stepsSkipped) {}

    /**
     * Training speed.
     *
     * @param workers how many replicas there were; 1 is the network alone, without a ParallelWrapper
     * @param fp32 images per second, as DL4J trains
     * @param amp images per second, in mixed precision
     */
    record Throughput(int workers, double fp32, double amp) {}
}
