package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.FwdPassType;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.inference.Repetition;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.INDArrayIndex;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions;

/**
 * Passes that are repeated where each layer computes its own activations: no group is computed together, and a pass may
 * ask for activations of single layers.
 */
class RepeatedLayersTest {
    private static ConvolutionLayer convolution(int out) {
        return new ConvolutionLayer.Builder(3, 3)
                .nOut(out)
                .activation(Activation.RELU)
                .build();
    }

    private static SubsamplingLayer pooling() {
        return new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                .kernelSize(2, 2)
                .stride(2, 2)
                .build();
    }

    private static DenseLayer dense(int out) {
        return new DenseLayer.Builder().nOut(out).activation(Activation.TANH).build();
    }

    /** Images as rows, as LeNet takes them. */
    private static MultiLayerConfiguration images() {
        return Networks.builder(new Sgd(1e-2))
                .list()
                .layer(convolution(6))
                .layer(pooling())
                .layer(convolution(8))
                .layer(dense(12))
                .layer(RepeatedPassesTest.softmax())
                .setInputType(InputType.convolutionalFlat(12, 12, 1))
                .build();
    }

    /** A network whose layers give their activations one by one to a program. */
    // DL4J's own class overrides methods of variable arity by others.
    @SuppressWarnings("overrides")
    private static final class Opened extends MultiLayerNetwork {
        private static final long serialVersionUID = 1L;

        Opened(MultiLayerConfiguration configuration) {
            super(configuration);
        }

        INDArray activations(int layer, INDArray x) {
            return outputOfLayerDetached(false, FwdPassType.STANDARD, layer, x, null, null, null);
        }
    }

    private static Opened opened(MultiLayerNetwork network) {
        Opened copy = new Opened(network.getLayerWiseConfigurations().clone());
        copy.init();
        copy.setParams(network.params().dup());
        return copy;
    }

    private static INDArray rows(int examples, int columns, int seed) {
        return Networks.gaussian(seed, examples, columns);
    }

    static float[] numbers(INDArray array) {
        return array.castTo(DataType.FLOAT).dup('c').data().asFloat();
    }

    /** Returns what a copy that was never run before computes in inference mode. */
    static float[] first(MultiLayerNetwork network, Precision precision, Function<MultiLayerNetwork, INDArray> call) {
        MultiLayerNetwork unused = network.clone();
        try (InferenceMode mode = MixedPrecision.inference(unused, RepeatedPassesTest.config(precision))) {
            return numbers(call.apply(unused));
        }
    }

    private static void assertSame(
            MultiLayerNetwork plain,
            MultiLayerNetwork network,
            Precision precision,
            Function<MultiLayerNetwork, INDArray> call) {
        assertArrayEquals(first(plain, precision, call), numbers(call.apply(network)));
    }

    /** Runs passes until they're repeated, and some more. */
    private static void assertRepeated(
            MultiLayerNetwork plain, MultiLayerNetwork network, Precision precision, int columns, int seed) {
        long before = Repetition.repeated();
        for (int i = 0; i < RepeatedPassesTest.BEFORE + 7; i++) {
            INDArray x = rows(2, columns, seed + i);
            assertSame(plain, network, precision, each -> each.output(x));
        }
        assertTrue(Repetition.repeated() >= before + 4, "repeated");
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void layersInARowGiveTheNumbersOfTheirFirstPass(Precision precision) throws Exception {
        MultiLayerNetwork network = Networks.init(images());
        MultiLayerNetwork plain = network.clone();
        try (InferenceMode mode = MixedPrecision.inference(network, RepeatedPassesTest.config(precision))) {
            assertRepeated(plain, network, precision, 144, 0);
            ByteArrayOutputStream saved = new ByteArrayOutputStream();
            ModelSerializer.writeModel(network, saved, true);
            assertEquals(
                    plain.params(),
                    ModelSerializer.restoreMultiLayerNetwork(new ByteArrayInputStream(saved.toByteArray()), true)
                            .params());
            plain.getLayer(2).getParam("W").muli(-1);
            network.getLayer(2).getParam("W").muli(-1);
            assertRepeated(plain, network, precision, 144, 20);
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void aPassMayAskForActivationsOfSingleLayers(Precision precision) {
        MultiLayerNetwork network = Networks.init(images());
        MultiLayerNetwork plain = network.clone();
        try (InferenceMode mode = MixedPrecision.inference(network, RepeatedPassesTest.config(precision))) {
            for (int layer = 0; layer < 4; layer++) {
                int last = layer;
                INDArray x = rows(2, 144, 90 + layer);
                assertRepeated(plain, network, precision, 144, 10 * layer);
                assertSame(plain, network, precision, each -> each.feedForwardToLayer(last, x, false)
                        .get(last + 1));
                assertSame(plain, network, precision, each -> {
                    // DL4J takes the minibatch from there.
                    each.setInput(x);
                    return each.activateSelectedLayers(0, Math.max(last, 1), x);
                });
                List<INDArray> all = network.feedForward(x, false);
                network.output(rows(2, 144, 50));
                assertArrayEquals(
                        first(plain, precision, each -> each.feedForward(x, false)
                                .get(last + 1)),
                        numbers(all.get(last + 1)),
                        "layer " + layer);
                assertSame(plain, network, precision, each -> each.output(x));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void aSubclassMayStopAtAnyLayer(Precision precision) {
        MultiLayerNetwork plain = Networks.init(images());
        Opened network = opened(plain);
        long before = Repetition.repeated();
        try (InferenceMode mode = MixedPrecision.inference(network, RepeatedPassesTest.config(precision))) {
            for (int i = 0; i < 16; i++) {
                int layer = i % 4;
                INDArray x = rows(2, 144, i);
                assertArrayEquals(first(plain, precision, each -> each.output(x)), numbers(network.output(x)));
                assertArrayEquals(
                        first(plain, precision, each -> each.feedForward(x, false)
                                .get(layer + 1)),
                        numbers(network.activations(layer, x)),
                        "layer " + layer);
            }
        }
        assertEquals(before, Repetition.repeated());
    }

    /** DL4J's own methods never do so in inference mode: code in its package or by reflection may. */
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void aCallThatStopsAtALayerWhoseNumbersAreGoneIsRefused(Precision precision) throws Exception {
        MultiLayerNetwork network = Networks.init(images());
        MultiLayerNetwork plain = network.clone();
        Method method = MultiLayerNetwork.class.getDeclaredMethod(
                "outputOfLayerDetached",
                boolean.class,
                FwdPassType.class,
                int.class,
                INDArray.class,
                INDArray.class,
                INDArray.class,
                MemoryWorkspace.class);
        method.setAccessible(true);
        try (InferenceMode mode = MixedPrecision.inference(network, RepeatedPassesTest.config(precision))) {
            for (int layer = 0; layer < 4; layer++) {
                INDArray x = rows(2, 144, layer);
                assertRepeated(plain, network, precision, 144, 10 * layer);
                Object[] arguments = {false, FwdPassType.STANDARD, layer, x, null, null, null};
                if (layer == 1 || layer == 2) {
                    Throwable refusal = assertThrows(
                                    InvocationTargetException.class, () -> method.invoke(network, arguments))
                            .getCause();
                    assertEquals(AmpException.class, refusal.getClass());
                    assertTrue(refusal.getMessage().contains("was asked for activations to keep"));
                } else {
                    int last = layer;
                    assertArrayEquals(
                            first(plain, precision, each -> each.feedForward(x, false)
                                    .get(last + 1)),
                            numbers((INDArray) method.invoke(network, arguments)));
                }
                assertSame(plain, network, precision, each -> each.output(x));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void scoresAndEvaluationsComeBetween(Precision precision) {
        MultiLayerNetwork network = Networks.init(images());
        MultiLayerNetwork plain = network.clone();
        INDArray labels = Nd4j.eye(4).castTo(DataType.FLOAT).get(NDArrayIndex.interval(0, 2), NDArrayIndex.all());
        try (InferenceMode mode = MixedPrecision.inference(network, RepeatedPassesTest.config(precision))) {
            for (int round = 0; round < 3; round++) {
                assertRepeated(plain, network, precision, 144, 10 * round);
                DataSet batch = new DataSet(rows(2, 144, round), labels.dup());
                assertSame(plain, network, precision, each -> Nd4j.scalar(each.score(batch)));
                assertSame(plain, network, precision, each -> each.scoreExamples(batch, false));
                assertEquals(
                        8,
                        network.evaluate(new ExistingDataSetIterator(Collections.nCopies(4, batch)))
                                .getNumRowCounter());
                float[] expected = first(plain, precision, each -> each.output(batch.getFeatures()));
                try (MemoryWorkspace own = Nd4j.getWorkspaceManager().getAndActivateWorkspace("OF_THE_PROGRAM")) {
                    assertArrayEquals(expected, numbers(network.output(batch.getFeatures(), false, own)));
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void threadsRepeatTheirOwnPasses(Precision precision) throws Exception {
        MultiLayerNetwork network = Networks.init(images());
        MultiLayerNetwork plain = network.clone();
        List<float[]> expected = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            INDArray x = rows(1 + i % 2, 144, i);
            expected.add(first(plain, precision, each -> each.output(x)));
        }
        long before = Repetition.repeated();
        ExecutorService pool = Executors.newFixedThreadPool(2);
        try (InferenceMode mode = MixedPrecision.inference(network, RepeatedPassesTest.config(precision))) {
            List<Future<?>> runs = new ArrayList<>();
            for (int t = 0; t < 2; t++) {
                int own = t;
                runs.add(pool.submit(() -> {
                    for (int i = own; i < 60; i += 2) {
                        assertArrayEquals(
                                expected.get(i % 12), numbers(network.output(rows(1 + own, 144, i % 12))), "pass " + i);
                    }
                }));
            }
            for (Future<?> run : runs) {
                run.get();
            }
        } finally {
            pool.shutdown();
        }
        assertTrue(Repetition.repeated() > before + 20, "repeated");
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void timeStepsAreRepeatedUpToTheRecurrentLayer(Precision precision) {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Sgd(1e-2))
                .list()
                .layer(dense(6))
                .layer(dense(7))
                .layer(new LSTM.Builder().nOut(5).build())
                .layer(new RnnOutputLayer.Builder(LossFunctions.LossFunction.MCXENT)
                        .nOut(3)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.recurrent(4))
                .build());
        MultiLayerNetwork plain = network.clone();
        INDArray sequence = Networks.gaussian(5, 2, 4, 12);
        long before = Repetition.repeated();
        try (InferenceMode mode = MixedPrecision.inference(network, RepeatedPassesTest.config(precision))) {
            float[] whole = first(plain, precision, each -> each.output(sequence));
            INDArray steps = Nd4j.create(DataType.FLOAT, 2, 3, 12);
            for (int t = 0; t < 12; t++) {
                INDArray step = sequence.get(NDArrayIndex.all(), NDArrayIndex.all(), NDArrayIndex.point(t));
                steps.put(
                        new INDArrayIndex[] {NDArrayIndex.all(), NDArrayIndex.all(), NDArrayIndex.point(t)},
                        network.rnnTimeStep(step.dup()).castTo(DataType.FLOAT));
            }
            assertArrayEquals(whole, numbers(steps), precision == Precision.FLOAT ? 1e-5F : 2e-2F);
            for (int i = 0; i < 2 * RepeatedPassesTest.BEFORE; i++) {
                assertSame(plain, network, precision, each -> each.output(sequence));
            }
            INDArray mask = Nd4j.ones(DataType.FLOAT, 2, 12);
            mask.putScalar(1, 11, 0);
            assertSame(plain, network, precision, each -> each.output(sequence, false, mask, null));
            assertSame(plain, network, precision, each -> each.output(sequence));
        }
        assertTrue(Repetition.repeated() > before, "repeated");
    }
}
