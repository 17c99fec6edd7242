package org.dl4jamp.examples.spark;

import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.spark.api.RDDTrainingApproach;
import org.deeplearning4j.spark.impl.repartitioner.EqualRepartitioner;
import org.deeplearning4j.spark.parameterserver.training.SharedTrainingMaster;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.examples.digits.DigitsNetworks;
import org.dl4jamp.spark.Witness;
import org.nd4j.parameterserver.distributed.conf.VoidConfiguration;
import org.nd4j.parameterserver.distributed.v2.enums.MeshBuildMode;
import org.nd4j.parameterserver.distributed.v2.transport.PortSupplier;

/** The residual graph for digits on a cluster on loopback. */
final class ResidualOnCluster {
    private ResidualOnCluster() {}

    /**
     * Returns what the graph computes in with these settings, in this process, whose CPU is that of the executors, in
     * the words of a {@link Witness}.
     */
    static String describe(AmpConfig config) {
        ComputationGraph graph = new ComputationGraph(DigitsNetworks.residual());
        graph.init();
        return Witness.describe(graph, config);
    }

    /** Returns a training master that sends gradients over loopback. */
    static SharedTrainingMaster sharedGradients(PortSupplier port) {
        VoidConfiguration network = VoidConfiguration.builder()
                .portSupplier(port)
                .controllerAddress("127.0.0.1")
                .meshBuildMode(MeshBuildMode.PLAIN)
                .build();
        return new SharedTrainingMaster.Builder(network, DigitsOnSpark.BATCH)
                .batchSizePerWorker(DigitsOnSpark.BATCH)
                .workersPerNode(1)
                .repartitioner(new EqualRepartitioner())
                .updatesThreshold(1e-3)
                .rddTrainingApproach(RDDTrainingApproach.Direct)
                .build();
    }
}
