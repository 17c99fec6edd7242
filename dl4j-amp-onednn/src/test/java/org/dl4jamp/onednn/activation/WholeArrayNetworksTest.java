package org.dl4jamp.onednn.activation;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.Pause;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationPReLU;
import org.nd4j.linalg.activations.impl.ActivationRReLU;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/** Networks with softmax, PReLU, RReLU and users' functions between their layers. */
class WholeArrayNetworksTest {
    private static final double ERROR = 1e-5;

    private static AmpConfig onOneDnn(Precision precision) {
        return AmpConfig.builder().engine("onednn").precision(precision).build();
    }

    private static Layer convolution(IActivation function) {
        return new ConvolutionLayer.Builder(3, 3).nOut(6).activation(function).build();
    }

    private static Layer dense(int out, IActivation function) {
        return new DenseLayer.Builder().nOut(out).activation(function).build();
    }

    private static NeuralNetConfiguration.ListBuilder layers(WorkspaceMode workspaces, Layer... layers) {
        return new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Adam(1e-2))
                .trainingWorkspaceMode(workspaces)
                .inferenceWorkspaceMode(workspaces)
                .list(layers);
    }

    private static MultiLayerConfiguration images(WorkspaceMode workspaces) {
        ActivationPReLU prelu = new ActivationPReLU(gaussian(new Random(1), 0.2, 6, 6, 6), null);
        return layers(
                        workspaces,
                        convolution(new UsersFunctions.Scaled(1.5, 0.7)),
                        convolution(new ActivationRReLU(0.1, 0.9)),
                        convolution(prelu),
                        new SubsamplingLayer.Builder(2, 2).build(),
                        new FrozenLayerWithBackprop(dense(14, new UsersFunctions.Scaled(2, 0.5))),
                        dense(12, new UsersFunctions.Keeping()),
                        dense(10, Activation.SOFTMAX.getActivationFunction()),
                        new ActivationLayer(new UsersFunctions.Keeping()),
                        dense(9, new ActivationRReLU(0.1, 0.4)),
                        Networks.softmax(3))
                .setInputType(InputType.convolutional(12, 12, 2))
                .build();
    }

    private static DataSet data(int minibatch) {
        INDArray features = gaussian(new Random(minibatch), 1, minibatch, 2, 12, 12);
        return new DataSet(features, Networks.oneHot(minibatch, 3));
    }

    private static Stream<Model> networks(WorkspaceMode workspaces) {
        return Stream.of(
                Networks.init(images(workspaces)),
                Networks.init(images(workspaces)).toComputationGraph());
    }

    private static INDArray output(Model network, INDArray features) {
        return network instanceof MultiLayerNetwork layers
                ? layers.output(features)
                : ((ComputationGraph) network).outputSingle(features);
    }

    private static MixedPrecision enable(Model network, Precision precision) {
        return network instanceof MultiLayerNetwork layers
                ? MixedPrecision.enable(layers, onOneDnn(precision))
                : MixedPrecision.enable((ComputationGraph) network, onOneDnn(precision));
    }

    private static void fit(Model network, int step) {
        // A seed of zero isn't one: each call then begins elsewhere.
        Nd4j.getRandom().setSeed(1 + step);
        Networks.fit(network, data(step % 2 == 0 ? 5 : 8));
    }

    @ParameterizedTest
    @EnumSource(
            value = WorkspaceMode.class,
            names = {"ENABLED", "NONE"})
    void trainInFloatAsStockDoes(WorkspaceMode workspaces) {
        networks(workspaces).forEach(stock -> {
            Model network = Networks.copy(stock);
            try (MixedPrecision amp = enable(network, Precision.FLOAT)) {
                assertTrue(
                        amp.plan().rows().stream().allMatch(row -> row.engine().equals("onednn")),
                        amp.plan().toString());
                for (int step = 0; step < 4; step++) {
                    fit(stock, step);
                    fit(network, step);
                    assertEquals(stock.score(), network.score(), ERROR);
                    Agreement.assertWithin("step " + step, stock.params(), network.params(), ERROR);
                    INDArray features = data(3).getFeatures();
                    Agreement.assertWithin("output", output(stock, features), output(network, features), ERROR);
                }
                try (Pause pause = amp.pause()) {
                    fit(stock, 4);
                    fit(network, 4);
                }
                fit(stock, 5);
                fit(network, 5);
                Agreement.assertWithin("after a pause", stock.params(), network.params(), ERROR);
            }
        });
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void trainToTheLossOfStock(Precision precision) {
        networks(WorkspaceMode.ENABLED).forEach(stock -> {
            Model network = Networks.copy(stock);
            double untrained = stock.score();
            try (MixedPrecision amp = enable(network, precision)) {
                for (int step = 0; step < 6; step++) {
                    fit(network, step);
                }
                long made = OneDnnContext.made();
                for (int step = 6; step < 40; step++) {
                    fit(network, step);
                }
                assertEquals(made, OneDnnContext.made(), "primitives made anew");
                assertEquals(0, amp.stepsSkipped());
            }
            for (int step = 0; step < 40; step++) {
                fit(stock, step);
            }
            assertTrue(Double.isFinite(untrained));
            assertEquals(stock.score(), network.score(), 0.1 * stock.score(), precision.toString());
        });
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void giveStocksOutputsInInferenceMode(Precision precision) {
        MultiLayerNetwork stock = Networks.init(images(WorkspaceMode.ENABLED));
        MultiLayerNetwork network = stock.clone();
        INDArray features = data(4).getFeatures();
        List<INDArray> expected = stock.feedForward(features, false);
        double error = precision == Precision.FLOAT ? ERROR : 0.03;
        try (InferenceMode mode =
                MixedPrecision.inference(network, onOneDnn(precision).forInference())) {
            for (int i = 0; i < 2; i++) {
                List<INDArray> actual = network.feedForward(features, false);
                for (int layer = 1; layer < expected.size(); layer++) {
                    // DL4J's activation layer writes over the output of the softmax.
                    if (layer == 7) {
                        continue;
                    }
                    Agreement.assertWithin("layer " + layer, expected.get(layer), actual.get(layer), error);
                }
                Agreement.assertWithin("output", expected.get(expected.size() - 1), network.output(features), error);
            }
        }
    }

    /** Functions that return new arrays, of another shape too, which stock DL4J takes without workspaces only. */
    private static MultiLayerNetwork changingShapes(DataType type) {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(3)
                .dataType(type)
                .trainingWorkspaceMode(WorkspaceMode.NONE)
                .inferenceWorkspaceMode(WorkspaceMode.NONE)
                .list(
                        new DenseLayer.Builder()
                                .nIn(5)
                                .nOut(8)
                                .activation(new UsersFunctions.Gated())
                                .build(),
                        new DenseLayer.Builder()
                                .nIn(4)
                                .nOut(6)
                                .activation(new UsersFunctions.Centered())
                                .build(),
                        new DenseLayer.Builder()
                                .nIn(6)
                                .nOut(5)
                                .activation(Activation.SOFTMAX)
                                .build(),
                        new DenseLayer.Builder()
                                .nIn(5)
                                .nOut(4)
                                .activation(new UsersFunctions.Scaled(1.5, 2))
                                .build(),
                        new OutputLayer.Builder()
                                .nIn(4)
                                .nOut(3)
                                .activation(Activation.SOFTMAX)
                                .build())
                .overrideNinUponBuild(false)
                .build());
    }

    @Test
    void gradientsAreThoseOfDoubleDifferences() {
        MultiLayerNetwork exact = changingShapes(DataType.DOUBLE);
        MultiLayerNetwork network = changingShapes(DataType.FLOAT);
        exact.setParams(gaussian(new Random(4), 0.7, exact.numParams()).castTo(DataType.DOUBLE));
        network.setParams(exact.params().castTo(DataType.FLOAT));
        DataSet data = new DataSet(gaussian(new Random(2), 1, 6, 5), Networks.oneHot(6, 3));
        try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(Precision.FLOAT))) {
            assertTrue(amp.plan().rows().stream().allMatch(row -> row.engine().equals("onednn")));
            network.setInput(data.getFeatures());
            network.setLabels(data.getLabels());
            network.computeGradientAndScore();
        }
        INDArray gradient = network.gradient().gradient();
        INDArray params = exact.params();
        DataSet doubles = new DataSet(
                data.getFeatures().castTo(DataType.DOUBLE), data.getLabels().castTo(DataType.DOUBLE));
        double step = 1e-5;
        double scale = gradient.norm2Number().doubleValue();
        assertTrue(scale > 0.1, "gradients of " + scale);
        for (long i = 0; i < params.length(); i++) {
            double before = params.getDouble(i);
            params.putScalar(i, before + step);
            double above = exact.score(doubles);
            params.putScalar(i, before - step);
            double below = exact.score(doubles);
            params.putScalar(i, before);
            // DL4J's gradients are sums over the examples.
            assertEquals(6 * (above - below) / (2 * step), gradient.getDouble(i), 1e-4 * scale, "parameter " + i);
        }
    }

    @Test
    void exceptionsOfAFunctionPassAsInStock() {
        UsersFunctions.Failing failing = new UsersFunctions.Failing();
        MultiLayerNetwork stock = Networks.init(
                layers(WorkspaceMode.ENABLED, convolution(failing), dense(6, failing), Networks.softmax(3))
                        .setInputType(InputType.convolutional(12, 12, 2))
                        .build());
        for (Precision precision : List.of(Precision.FLOAT, Types.halfPrecision())) {
            MultiLayerNetwork network = stock.clone();
            MultiLayerNetwork own = stock.clone();
            try (MixedPrecision amp = MixedPrecision.enable(network, onOneDnn(precision))) {
                for (boolean forward : new boolean[] {true, false}) {
                    failing.fail(forward, !forward);
                    Throwable expected = assertThrows(ArithmeticException.class, () -> own.fit(data(5)));
                    Throwable actual = assertThrows(ArithmeticException.class, () -> network.fit(data(5)));
                    assertEquals(expected.getMessage(), actual.getMessage());
                    failing.fail(false, false);
                    own.fit(data(5));
                    network.fit(data(5));
                    double error = precision == Precision.FLOAT ? ERROR : 0.05;
                    assertEquals(own.score(), network.score(), error * own.score());
                    assertEquals(0, amp.stepsSkipped());
                }
            }
        }
    }
}
