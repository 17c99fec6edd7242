package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.parallelism.ParallelInference;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.deeplearning4j.parallelism.inference.InferenceMode;
import org.dl4jamp.FailedPassContract;
import org.dl4jamp.FailedPassContract.Failing;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** Replicas in which a layer throws in the middle of a pass, when layers behind it have their input already. */
// In a thread of its own: DL4J's waiting can't be interrupted.
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailedPassInReplicasTest {
    private final DataSet data = FailedPassContract.data();

    @AfterEach
    void failNoMore() {
        Failing.fail(false);
    }

    private static Stream<Arguments> wrappers() {
        return Stream.of(Replicas.half(), Replicas.oneDnn())
                .flatMap(config -> Stream.of(TrainingMode.AVERAGING, TrainingMode.SHARED_GRADIENTS)
                        .map(mode -> Arguments.of(mode, config)));
    }

    @ParameterizedTest
    @MethodSource("wrappers")
    void allLayersAreBackAndTheNetworkTrains(TrainingMode mode, AmpConfig config) {
        ComputationGraph graph = FailedPassContract.graph();
        ComputationGraph plain = graph.clone();
        Layer[] own = graph.getLayers().clone();
        List<DataSet> batches = Collections.nCopies(4, data);
        ParallelWrapper wrapper = Replicas.wrapper(graph, 2, mode);
        Failing.fail(true);
        try (AmpReplicas amp = AmpReplicas.installIn(wrapper, config)) {
            RuntimeException thrown =
                    assertThrows(RuntimeException.class, () -> wrapper.fit(Replicas.iterator(batches)));
            assertTrue(Stream.iterate((Throwable) thrown, each -> each != null, Throwable::getCause)
                    .anyMatch(each -> "fails for the test".equals(each.getMessage())));
        }
        Failing.fail(false);
        FailedPassContract.assertLayers(own, graph);
        assertTrue(MixedPrecision.of(graph).isEmpty());
        assertEquals(plain.params(), graph.params());
        graph.fit(data);
        plain.fit(data);
        assertEquals(plain.params(), graph.params());
    }

    /** In DL4J's other modes a caller waits forever for a worker that a layer's exception has ended. */
    @Test
    void repliesFollowThatAreThoseOfStockDl4j() {
        ComputationGraph graph = FailedPassContract.graph();
        INDArray expected = graph.outputSingle(data.getFeatures());
        ParallelInference inference = AmpInference.builder(graph)
                .config(Replicas.oneDnn())
                .workers(2)
                .inferenceMode(InferenceMode.INPLACE)
                .build();
        try {
            Failing.fail(true);
            assertThrows(RuntimeException.class, () -> inference.output(data.getFeatures()));
            Failing.fail(false);
            for (int pass = 0; pass < 6; pass++) {
                INDArray reply = inference.output(data.getFeatures());
                assertTrue(
                        reply.distance2(expected)
                                < 0.03 * expected.norm2Number().doubleValue(),
                        "pass " + pass);
            }
        } finally {
            inference.shutdown();
        }
        graph.fit(data);
    }
}
