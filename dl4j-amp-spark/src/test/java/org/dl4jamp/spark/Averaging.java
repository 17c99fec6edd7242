package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.spark.api.RDDTrainingApproach;
import org.deeplearning4j.spark.impl.paramavg.ParameterAveragingTrainingMaster;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.ops.transforms.Transforms;

/** Networks with a {@link ParameterAveragingTrainingMaster}. */
final class Averaging {
    static final int FREQUENCY = 5;

    /** Settings none of which is a default, and with which the first steps overflow. */
    static final AmpConfig UNUSUAL = AmpConfig.builder()
            .precision(Precision.HALF)
            .engine("nd4j")
            .keepFull(".*1")
            .lossScaler(DynamicLossScaler.builder()
                    .initialScale(Math.scalb(1.0, 24))
                    .growthInterval(10_000)
                    .build())
            .scaleSearch(0)
            .clipGradientNorm(0.75)
            .maxConsecutiveSkips(33)
            .build();

    private Averaging() {}

    static ParameterAveragingTrainingMaster.Builder master(int workers) {
        return new ParameterAveragingTrainingMaster.Builder(workers, Blobs.BATCH)
                .batchSizePerWorker(Blobs.BATCH)
                .averagingFrequency(FREQUENCY)
                .saveUpdater(true)
                .rngSeed(1)
                .rddTrainingApproach(RDDTrainingApproach.Direct);
    }

    /** Returns what a {@link Witness} says of the network with these settings, as they are in this process. */
    static String describe(AmpConfig config) {
        MultiLayerNetwork network = new MultiLayerNetwork(Blobs.network());
        network.init();
        return Witness.describe(network, config);
    }

    /** Returns what a {@link Witness} says of the graph with these settings, as they are in this process. */
    static String describeGraph(AmpConfig config) {
        ComputationGraph graph = new ComputationGraph(Blobs.graph());
        graph.init();
        return Witness.describe(graph, config);
    }

    static void assertClose(INDArray expected, INDArray actual) {
        double difference = Transforms.abs(expected.sub(actual)).maxNumber().doubleValue();
        assertTrue(difference < 1e-5, () -> "parameters differ by " + difference);
    }
}
