package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelInference;
import org.deeplearning4j.parallelism.inference.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inference.Repetition;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Sgd;

/** Replicas of {@link AmpInference} whose passes the engine repeats as one list of primitives. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RepeatedReplicasTest {
    private static final int CALLERS = 3;

    private static final int CALLS = 30;

    /** Sums of a minibatch that callers share may be in another order. */
    private static final float LAST_DIGITS = 1e-5f;

    private static final AmpConfig CONFIG =
            AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();

    /** Layers in a row, none of which are computed together. */
    private static MultiLayerConfiguration row() {
        return Networks.builder(new Sgd(0.05))
                .list()
                .layer(Networks.convolution(3, 4))
                .layer(new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                        .kernelSize(2, 2)
                        .stride(2, 2)
                        .build())
                .layer(Networks.dense(8, Activation.TANH))
                .layer(Networks.softmax(3))
                .setInputType(InputType.convolutional(8, 8, 3))
                .build();
    }

    private static void train(Model network, int steps) {
        for (int i = 0; i < steps; i++) {
            Networks.fit(network, Networks.images(8, 3, 8, 3));
        }
    }

    private static INDArray input(int seed) {
        return Networks.gaussian(seed, 2, 3, 8, 8);
    }

    private static float[] numbers(INDArray array) {
        return array.dup('c').data().asFloat();
    }

    /** Returns what a copy of the network in inference mode computes in its first pass, layer by layer. */
    private static float[] first(Model network, INDArray x) {
        Model copy = Networks.copy(network);
        try (org.dl4jamp.InferenceMode mode = MixedPrecision.inference(copy, CONFIG)) {
            return numbers(
                    copy instanceof ComputationGraph graph
                            ? graph.outputSingle(x)
                            : ((MultiLayerNetwork) copy).output(x));
        }
    }

    private static void assertAnswers(Model network, ParallelInference inference, float tolerance) throws Exception {
        List<INDArray> inputs = new ArrayList<>();
        List<float[]> expected = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            inputs.add(input(i));
            expected.add(first(network, inputs.get(i)));
        }
        ExecutorService callers = Executors.newFixedThreadPool(CALLERS);
        try {
            List<Future<?>> calls = new ArrayList<>();
            for (int caller = 0; caller < CALLERS; caller++) {
                calls.add(callers.submit(() -> {
                    for (int i = 0; i < CALLS; i++) {
                        float[] output = numbers(inference.output(inputs.get(i)));
                        assertArrayEquals(expected.get(i), output, tolerance, "call " + i);
                    }
                }));
            }
            for (Future<?> call : calls) {
                call.get();
            }
        } finally {
            callers.shutdown();
        }
    }

    @ParameterizedTest
    @EnumSource(InferenceMode.class)
    void outputsAreThoseOfAFirstPassAlsoOfAnotherModel(InferenceMode mode) throws Exception {
        assertAnswersOf(Networks.init(Networks.residual()), mode);
    }

    @ParameterizedTest
    @EnumSource(InferenceMode.class)
    void layersInARowAreRepeatedToo(InferenceMode mode) throws Exception {
        assertAnswersOf(Networks.init(row()), mode);
    }

    private static void assertAnswersOf(Model network, InferenceMode mode) throws Exception {
        train(network, 3);
        Model other = Networks.copy(network);
        train(other, 3);
        float tolerance = mode == InferenceMode.BATCHED ? LAST_DIGITS : 0;
        ParallelInference inference = AmpInference.builder(network)
                .config(CONFIG)
                .workers(2)
                .inferenceMode(mode)
                .build();
        try {
            long before = Repetition.repeated();
            assertAnswers(network, inference, tolerance);
            // Callers share minibatches, whose shape changes all the time.
            if (mode != InferenceMode.BATCHED) {
                assertTrue(Repetition.repeated() > before + CALLS, "repeated " + (Repetition.repeated() - before));
            }
            inference.updateModel(other);
            assertAnswers(other, inference, tolerance);
            if (mode == InferenceMode.INPLACE) {
                other.setParams(other.params().mul(0.9));
                assertAnswers(other, inference, tolerance);
            }
        } finally {
            inference.shutdown();
        }
    }
}
