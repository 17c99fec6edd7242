package org.dl4jamp.examples.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClusterModelTest {
    /**
     * By hand, as {@code RDD.treeAggregate} of depth 2 divides them: 7 into 2 groups of up to 4, 16 into 4 of 4, 1,024
     * into 32 of 32.
     */
    @ParameterizedTest
    @CsvSource({"1, 1", "2, 2", "4, 4", "5, 5", "6, 5", "7, 6", "8, 6", "16, 8", "1024, 64"})
    void resultsAreAddedUpInATreeOfTwoLevelsWhereTheyAreMany(int executors, double copies) {
        assertEquals(copies, ClusterModel.aggregatedCopies(executors));
    }

    @Test
    void splitIsComputingAndSparkAndSending() {
        ClusterModel model = new ClusterModel(10, 125_000_000, 0.25);
        // Two copies of 1 Gbit each to two executors, two back, over 1 Gbit/s.
        assertEquals(10 * 0.1 + 0.25 + 4, model.splitSeconds(2, 0.1, 125e6), 1e-9);
        assertEquals(10 * 0.1 + 0.25, model.splitSeconds(2, 0.1, Double.POSITIVE_INFINITY), 1e-9);
        assertEquals(20 / 5.25, model.stepsPerSecond(2, 0.1, 125e6), 1e-9);
    }

    @Test
    void halfPrecisionGainsLessTheMoreIsSent() {
        ClusterModel model = new ClusterModel(10, Workload.MLP.stateBytes(), 0.25);
        double alone = gain(model, 1, 100e9 / 8);
        double slowLink = gain(model, 64, 1e9 / 8);
        assertTrue(alone > 1.3, () -> "alone " + alone);
        assertTrue(slowLink < 1.1, () -> "over 1 Gbit/s " + slowLink);
    }

    private static double gain(ClusterModel model, int executors, double link) {
        return model.splitSeconds(executors, Workload.MLP.floatSeconds(), link)
                / model.splitSeconds(executors, Workload.MLP.halfSeconds(), link);
    }
}
