package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.spark.api.RDDTrainingApproach;
import org.deeplearning4j.spark.api.TrainingMaster;
import org.deeplearning4j.spark.impl.graph.SparkComputationGraph;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.deeplearning4j.spark.impl.paramavg.ParameterAveragingTrainingMaster;
import org.dl4jamp.listeners.AmpListener;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;

/** An {@link AmpListener}, which is for one machine, with Spark. */
@EnabledForJreRange(maxVersion = 22, disabledReason = "Spark 3.5 needs Subject.getSubject, which newer JDKs lack")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ListenerOfOneMachineTest {
    @TempDir
    private Path folder;

    // DL4J takes no other way of writing it for a cluster that can read local files.
    private final JavaSparkContext context = Cluster.start(Map.of("spark.master", "local[2]"));

    @AfterEach
    void stop() {
        context.close();
    }

    @ParameterizedTest
    @EnumSource(RDDTrainingApproach.class)
    void parameterAveragingRefusesItBeforeAnyStep(RDDTrainingApproach approach) {
        refusesBoth(new ParameterAveragingTrainingMaster.Builder(1, Blobs.BATCH)
                .batchSizePerWorker(Blobs.BATCH)
                .averagingFrequency(1)
                .rddTrainingApproach(approach)
                .exportDirectory(folder.toUri().toString())
                .build());
    }

    @ParameterizedTest
    @EnumSource(RDDTrainingApproach.class)
    void sharedGradientsRefuseItBeforeAnyStep(RDDTrainingApproach approach) {
        refusesBoth(SharedGradients.builder(1)
                .rddTrainingApproach(approach)
                .exportDirectory(folder.toUri().toString())
                .build());
    }

    private void refusesBoth(TrainingMaster<?, ?> master) {
        SparkDl4jMultiLayer network = new SparkDl4jMultiLayer(context, Blobs.network(), master);
        network.setListeners(List.<TrainingListener>of(new AmpListener(Blobs.half())));
        refuses(() -> network.fit(rdd()), network.getNetwork().params());
        SparkComputationGraph graph = new SparkComputationGraph(context, Blobs.graph(), master);
        graph.setListeners(List.<TrainingListener>of(new AmpListener()));
        refuses(() -> graph.fit(rdd()), graph.getNetwork().params());
    }

    private static void refuses(Runnable fit, INDArray parameters) {
        INDArray before = parameters.dup();
        Exception error = assertThrows(Exception.class, fit::run);
        assertEquals(AmpException.class, error.getCause().getClass(), error::toString);
        String message = error.getCause().getMessage();
        assertTrue(message.contains("SparkAmp.on(sparkContext).hook()"), message);
        assertTrue(message.contains("SparkAmp.on(sparkContext).listener()"), message);
        assertEquals(before, parameters);
    }

    @Test
    void itServesNetworksThatAProgramTrainsInTasksOfItsOwn() {
        AmpListener listener = new AmpListener(Blobs.half());
        List<Long> steps = context.parallelize(List.of(1, 2), 2)
                .map(seed -> {
                    MultiLayerNetwork network = new MultiLayerNetwork(Blobs.network());
                    network.init();
                    network.setListeners(listener);
                    network.fit(
                            new SingletonDataSetIterator(Blobs.batches(1, seed).get(0)));
                    return listener.mixedPrecision().orElseThrow().stepsTaken();
                })
                .collect();
        assertEquals(List.of(1L, 1L), steps);
    }

    private JavaRDD<DataSet> rdd() {
        return context.parallelize(Blobs.batches(10, 1), 1);
    }
}
