package org.dl4jamp.spark;

import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.spark.api.RDDTrainingApproach;
import org.deeplearning4j.spark.api.Repartition;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.deeplearning4j.spark.parameterserver.training.SharedTrainingMaster;
import org.nd4j.parameterserver.distributed.conf.VoidConfiguration;

/** Networks with a {@link SharedTrainingMaster}, in which DL4J sends gradients over loopback. */
final class SharedGradients {
    private static final int PORT = 40123;

    private SharedGradients() {}

    static SharedTrainingMaster master(int workersPerNode) {
        return builder(workersPerNode)
                .rddTrainingApproach(RDDTrainingApproach.Direct)
                .build();
    }

    /**
     * Takes partitions as they are. For fits without the listener, whose data is in one partition: tasks have no turns
     * without it, and DL4J's may wait for each other for ever. Its default makes many tasks of one partition.
     */
    static SharedTrainingMaster tasksAsGiven() {
        return builder(1)
                .rddTrainingApproach(RDDTrainingApproach.Direct)
                .repartitioner(null)
                .repartitionData(Repartition.Never)
                .build();
    }

    static SharedTrainingMaster.Builder builder(int workersPerNode) {
        VoidConfiguration network = VoidConfiguration.builder()
                .controllerAddress("127.0.0.1")
                .unicastPort(PORT)
                .build();
        return new SharedTrainingMaster.Builder(network, Blobs.BATCH)
                .batchSizePerWorker(Blobs.BATCH)
                .workersPerNode(workersPerNode)
                .updatesThreshold(1e-3);
    }

    static SparkDl4jMultiLayer network(
            JavaSparkContext context, MultiLayerConfiguration configuration, TrainingListener... listeners) {
        SparkDl4jMultiLayer network = new SparkDl4jMultiLayer(context, configuration, master(1));
        network.setListeners(List.of(listeners));
        return network;
    }
}
