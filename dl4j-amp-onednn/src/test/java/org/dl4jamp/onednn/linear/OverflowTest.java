package org.dl4jamp.onednn.linear;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.Pause;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** A step with a non-finite gradient is skipped, whichever code wrote it: every gradient is read. */
class OverflowTest {
    private static final int WIDTH = 600;
    private static final int EXAMPLES = 8;

    private static MultiLayerConfiguration configuration(IActivation first) {
        return new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Sgd(1e-3))
                .activation(Activation.IDENTITY)
                .list()
                .layer(new DenseLayer.Builder()
                        .nIn(WIDTH)
                        .nOut(WIDTH)
                        .activation(first)
                        .build())
                .layer(new DenseLayer.Builder().nIn(WIDTH).nOut(WIDTH).build())
                .layer(new OutputLayer.Builder(LossFunction.MSE)
                        .nIn(WIDTH)
                        .nOut(4)
                        .build())
                .build();
    }

    private static MultiLayerNetwork network() {
        return Networks.init(configuration(new ActivationIdentity()));
    }

    private static AmpConfig.Builder config(Precision precision) {
        return AmpConfig.builder().precision(precision).engine("onednn");
    }

    private static DataSet batch(double features, double labels) {
        Nd4j.getRandom().setSeed(9);
        return new DataSet(
                Nd4j.randn(DataType.FLOAT, EXAMPLES, WIDTH).muli(features),
                Nd4j.randn(DataType.FLOAT, EXAMPLES, 4).muli(labels));
    }

    /** Inputs, deltas and loss are finite; the gradient of the first layer's weights isn't. */
    private static DataSet overflow(MultiLayerNetwork network) {
        network.getParam("0_W").muli(1e-25);
        return batch(1e25, 1e15);
    }

    private static void assertSkips(MultiLayerNetwork network, MixedPrecision amp, DataSet batch) {
        INDArray before = network.params().dup();
        network.fit(batch);
        assertEquals(1, amp.stepsSkipped());
        assertTrue(Double.isFinite(network.score()), () -> "loss " + network.score());
        assertEquals(before, network.params());
        network.fit(batch(1, 1));
        assertEquals(1, amp.stepsTaken());
        assertFalse(before.equals(network.params()));
        assertTrue(Double.isFinite(network.params().sumNumber().doubleValue()));
    }

    static List<Precision> precisions() {
        return Types.here().stream()
                .map(type -> type == DataType.FLOAT ? Precision.FLOAT : Precision.BFLOAT16)
                .toList();
    }

    @ParameterizedTest
    @MethodSource("precisions")
    void aGradientThatOverflowsInTheProductIsSeen(Precision precision) {
        MultiLayerNetwork network = network();
        try (MixedPrecision amp =
                MixedPrecision.enable(network, config(precision).build())) {
            assertSkips(network, amp, overflow(network));
        }
    }

    @ParameterizedTest
    @MethodSource("precisions")
    void aGradientThatOverflowsInAConvolutionIsSeen(Precision precision) {
        MultiLayerNetwork network = Networks.init(new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Sgd(1e-3))
                .activation(Activation.IDENTITY)
                .convolutionMode(ConvolutionMode.Same)
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3).nOut(256).build())
                .layer(new OutputLayer.Builder(LossFunction.MSE).nOut(4).build())
                .setInputType(InputType.convolutional(4, 4, 256))
                .build());
        try (MixedPrecision amp =
                MixedPrecision.enable(network, config(precision).build())) {
            network.getParam("0_W").muli(1e-25);
            INDArray before = network.params().dup();
            DataSet batch = new DataSet(
                    Nd4j.randn(DataType.FLOAT, EXAMPLES, 256, 4, 4).muli(1e25),
                    Nd4j.randn(DataType.FLOAT, EXAMPLES, 4).muli(1e15));
            network.fit(batch);
            assertTrue(Double.isFinite(network.score()), () -> "loss " + network.score());
            assertEquals(1, amp.stepsSkipped());
            assertEquals(before, network.params());
        }
    }

    static Stream<Consumer<INDArray>> changes() {
        return Stream.of(
                gradients -> gradients.putScalar(WIDTH * 7, Float.NaN),
                gradients -> gradients.muli(1e30).muli(1e30));
    }

    @ParameterizedTest
    @MethodSource("changes")
    void whatAListenerDoesToGradientsIsSeen(Consumer<INDArray> change) {
        List<BaseTrainingListener> listeners = List.of(
                new BaseTrainingListener() {
                    @Override
                    public void onGradientCalculation(Model model) {
                        changeFirst(model, change);
                    }
                },
                new BaseTrainingListener() {
                    @Override
                    public void onBackwardPass(Model model) {
                        changeFirst(model, change);
                    }
                });
        for (BaseTrainingListener listener : listeners) {
            MultiLayerNetwork network = network();
            network.setListeners(listener);
            try (MixedPrecision amp =
                    MixedPrecision.enable(network, config(Precision.FLOAT).build())) {
                assertSkips(network, amp, batch(1, 1));
            }
        }
    }

    private static void changeFirst(Model model, Consumer<INDArray> change) {
        MultiLayerNetwork network = (MultiLayerNetwork) model;
        if (network.getIterationCount() == 0) {
            change.accept(network.getGradientsViewArray());
        }
    }

    // DL4J's own methods differ in their dots.
    @SuppressWarnings({"overrides", "serial"})
    private static final class OwnNetwork extends MultiLayerNetwork {
        OwnNetwork() {
            super(configuration(new ActivationIdentity()));
        }

        @Override
        public void computeGradientAndScore(LayerWorkspaceMgr workspaceMgr) {
            super.computeGradientAndScore(workspaceMgr);
            changeFirst(this, gradients -> gradients.putScalar(3, Float.NaN));
        }
    }

    @Test
    void whatANetworkOfAClassOfItsOwnDoesToGradientsIsSeen() {
        MultiLayerNetwork network = new OwnNetwork();
        network.init();
        try (MixedPrecision amp =
                MixedPrecision.enable(network, config(Precision.FLOAT).build())) {
            assertSkips(network, amp, batch(1, 1));
        }
    }

    @Test
    void aGradientThatOverflowsWhenASmallLossScaleIsTakenOutIsSeen() {
        MultiLayerNetwork network = network();
        AmpConfig config = config(Types.here().contains(DataType.BFLOAT16) ? Precision.BFLOAT16 : Precision.FLOAT)
                .lossScaler(new StaticLossScaler(0x1p-60))
                .build();
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            assertSkips(network, amp, overflow(network));
        }
    }

    @Test
    void anOverflowInAPauseIsSeen() {
        MultiLayerNetwork network = network();
        try (MixedPrecision amp =
                MixedPrecision.enable(network, config(Precision.FLOAT).build())) {
            network.calculateGradients(batch(1, 1).getFeatures(), batch(1, 1).getLabels(), null, null);
            try (Pause pause = amp.pause()) {
                assertTrue(amp.isPaused(), pause::toString);
                assertSkips(network, amp, overflow(network));
            }
        }
    }

    /** An activation function puts NaN into the gradients of another layer. */
    @Test
    void whatAnActivationFunctionDoesToGradientsIsSeen() {
        MultiLayerNetwork[] holder = new MultiLayerNetwork[1];
        MultiLayerNetwork network = new MultiLayerNetwork(configuration(new ActivationIdentity() {
            @Override
            public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
                if (holder[0].getIterationCount() == 0) {
                    holder[0].getGradientsViewArray().putScalar((WIDTH + 1L) * WIDTH, Float.NaN);
                }
                return super.backprop(in, epsilon);
            }
        }));
        holder[0] = network;
        network.init();
        try (MixedPrecision amp =
                MixedPrecision.enable(network, config(Precision.FLOAT).build())) {
            assertSkips(network, amp, batch(1, 1));
        }
    }
}
