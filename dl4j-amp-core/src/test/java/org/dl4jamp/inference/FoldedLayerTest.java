package org.dl4jamp.inference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Networks;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.impl.ActivationELU;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class FoldedLayerTest {
    private record Pair(
            String name, org.deeplearning4j.nn.conf.layers.Layer product, BatchNormalization normalization) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static BatchNormalization.Builder normalization() {
        return new BatchNormalization.Builder();
    }

    private static ConvolutionLayer.Builder convolution() {
        return new ConvolutionLayer.Builder(3, 3)
                .nOut(6)
                .convolutionMode(ConvolutionMode.Same)
                .activation(Activation.IDENTITY);
    }

    private static Stream<Pair> pairs() {
        return Stream.of(
                new Pair(
                        "dense",
                        Networks.dense(6, Activation.IDENTITY),
                        normalization().build()),
                new Pair(
                        "dense without bias",
                        new DenseLayer.Builder()
                                .nOut(6)
                                .hasBias(false)
                                .activation(Activation.IDENTITY)
                                .build(),
                        normalization().useLogStd(true).build()),
                new Pair("convolution", convolution().build(), normalization().build()),
                new Pair(
                        "convolution without bias",
                        convolution().hasBias(false).build(),
                        normalization().useLogStd(true).eps(1e-2).build()),
                new Pair(
                        "convolution with fixed gamma and beta",
                        convolution().build(),
                        normalization()
                                .lockGammaBeta(true)
                                .gamma(1.5)
                                .beta(-0.25)
                                .build()),
                new Pair(
                        "deconvolution",
                        new Deconvolution2D.Builder(2, 2)
                                .stride(2, 2)
                                .nOut(6)
                                .activation(Activation.IDENTITY)
                                .build(),
                        normalization().build()),
                new Pair(
                        "depthwise",
                        new DepthwiseConvolution2D.Builder(3, 3)
                                .depthMultiplier(2)
                                .nOut(6)
                                .hasBias(false)
                                .activation(Activation.IDENTITY)
                                .build(),
                        normalization().build()),
                new Pair(
                        "separable",
                        new SeparableConvolution2D.Builder(3, 3)
                                .nOut(6)
                                .activation(Activation.IDENTITY)
                                .build(),
                        normalization().build()));
    }

    private static MultiLayerNetwork network(Pair pair) {
        boolean vectors = pair.product instanceof DenseLayer;
        MultiLayerNetwork network = Networks.init(new NeuralNetConfiguration.Builder()
                .seed(3)
                .list()
                .layer(pair.product)
                .layer(pair.normalization)
                .setInputType(vectors ? InputType.feedForward(5) : InputType.convolutional(8, 7, 3, CNN2DFormat.NCHW))
                .build());
        Nd4j.getRandom().setSeed(17);
        network.paramTable().forEach((name, values) -> {
            if (!name.endsWith("W")) {
                // Of any sign, but variances.
                double low = name.endsWith("var") ? 0.2 : -1;
                values.assign(
                        Nd4j.rand(DataType.FLOAT, values.shape()).muli(1.5).addi(low));
            }
        });
        return network;
    }

    private static INDArray input(Pair pair) {
        return pair.product instanceof DenseLayer
                ? Nd4j.randn(DataType.FLOAT, 4, 5)
                : Nd4j.randn(DataType.FLOAT, 4, 3, 8, 7);
    }

    private static void assertClose(INDArray expected, INDArray actual) {
        double difference = expected.sub(actual).amaxNumber().doubleValue();
        double bound = 2e-6 * Math.max(1, expected.amaxNumber().doubleValue());
        assertTrue(difference <= bound, () -> "off by " + difference + ", bound " + bound);
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void oneLayerComputesWhatBothDo(Pair pair) {
        MultiLayerNetwork network = network(pair);
        INDArray input = input(pair);
        FoldedLayer folded =
                new FoldedLayer(network.getLayer(0), network.getLayer(1), new ActivationELU(), Precision.FLOAT);
        INDArray before = network.params().dup();
        for (int i = 0; i < 2; i++) {
            folded.fold();
            INDArray expected = new ActivationELU().getActivation(network.output(input), false);
            INDArray actual = folded.layer().activate(input.dup(), false, LayerWorkspaceMgr.noWorkspaces());
            assertClose(expected, actual);
        }
        assertEquals(before, network.params(), "the network's parameters stay as they are");
    }

    @Test
    void weightsAndBiasAreThoseOfTheFormulaInDoublePrecision() {
        Pair pair = pairs().findFirst().orElseThrow();
        MultiLayerNetwork network = network(pair);
        FoldedLayer folded = new FoldedLayer(network.getLayer(0), network.getLayer(1), null, Precision.FLOAT);
        folded.fold();
        INDArray weights = network.getParam("0_W");
        for (int out = 0; out < 6; out++) {
            double factor = network.getParam("1_gamma").getDouble(out)
                    / Math.sqrt(variance(network, out) + pair.normalization.getEps());
            double bias = factor
                            * (network.getParam("0_b").getDouble(out)
                                    - network.getParam("1_mean").getDouble(out))
                    + network.getParam("1_beta").getDouble(out);
            assertEquals(bias, folded.layer().getParam("b").getDouble(out), 1e-6 * (1 + Math.abs(bias)));
            for (int in = 0; in < 5; in++) {
                double weight = factor * weights.getDouble(in, out);
                assertEquals(weight, folded.layer().getParam("W").getDouble(in, out), 1e-6 * (1 + Math.abs(weight)));
            }
        }
    }

    private static double variance(MultiLayerNetwork network, int channel) {
        INDArray logarithm = network.paramTable().get("1_log10stdev");
        return logarithm == null
                ? network.getParam("1_var").getDouble(channel)
                : Math.pow(10, 2 * logarithm.getDouble(channel));
    }

    @Test
    void withoutBatchNormalizationTheParametersAreTheNetworksOwn() {
        Layer product = network(pairs().findFirst().orElseThrow()).getLayer(0);
        assertSame(
                product.params(),
                new FoldedLayer(product, null, new ActivationELU(), Precision.FLOAT)
                        .layer()
                        .params());
    }
}
