package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.Upsampling2D;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * DL4J runs a frozen layer through which gradients flow forward as in inference, and backward all the same: each twin
 * takes that.
 */
class FrozenWithBackpropTest {
    private static LSTM lstm() {
        return new LSTM.Builder().nOut(4).activation(Activation.TANH).build();
    }

    static Stream<Arguments> layers() {
        List<Layer> ofVectors = List.of(
                Networks.dense(4, Activation.RELU),
                new DenseLayer.Builder()
                        .nOut(4)
                        .activation(Activation.TANH)
                        .hasLayerNorm(true)
                        .build(),
                new BatchNormalization(),
                new ActivationLayer(Activation.RELU));
        List<Layer> ofImages = List.of(
                new ConvolutionLayer.Builder(3, 3)
                        .nOut(4)
                        .activation(Activation.RELU)
                        .build(),
                new SeparableConvolution2D.Builder(3, 3)
                        .nOut(4)
                        .activation(Activation.RELU)
                        .build(),
                new Deconvolution2D.Builder(2, 2)
                        .nOut(4)
                        .activation(Activation.RELU)
                        .build(),
                new BatchNormalization(),
                new SubsamplingLayer.Builder(2, 2).stride(2, 2).build(),
                new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.AVG, new int[] {2, 2}, new int[] {2, 2})
                        .build(),
                new LocalResponseNormalization.Builder().n(3).build(),
                new GlobalPoolingLayer(PoolingType.MAX),
                new Upsampling2D.Builder(2).build(),
                new ZeroPaddingLayer(1, 1));
        List<Layer> ofSequences = new ArrayList<>(List.of(
                lstm(),
                new SimpleRnn.Builder().nOut(4).activation(Activation.TANH).build(),
                new Convolution1DLayer.Builder(3)
                        .nOut(4)
                        .activation(Activation.RELU)
                        .build()));
        for (Bidirectional.Mode mode : Bidirectional.Mode.values()) {
            ofSequences.add(new Bidirectional(mode, lstm()));
            ofSequences.add(new Bidirectional(
                    mode,
                    new SimpleRnn.Builder().nOut(4).activation(Activation.TANH).build()));
        }
        return Stream.of(
                        ofVectors.stream()
                                .map(layer -> Arguments.of(layer, InputType.feedForward(5), new long[] {6, 5})),
                        ofImages.stream()
                                .map(layer ->
                                        Arguments.of(layer, InputType.convolutional(6, 6, 3), new long[] {6, 3, 6, 6})),
                        ofSequences.stream()
                                .map(layer -> Arguments.of(layer, InputType.recurrent(5, 7), new long[] {6, 5, 7})))
                .flatMap(stream -> stream);
    }

    private static Layer front(int rank) {
        return switch (rank) {
            case 2 -> Networks.dense(5, Activation.TANH);
            case 3 ->
                new SimpleRnn.Builder().nOut(5).activation(Activation.TANH).build();
            default ->
                new ConvolutionLayer.Builder(3, 3)
                        .nOut(3)
                        .activation(Activation.TANH)
                        .build();
        };
    }

    private static MultiLayerNetwork network(Layer frozen, InputType input, int rank) {
        Layer last = rank == 3 ? Networks.rnnRegression(2) : Networks.regression(2);
        MultiLayerConfiguration configuration = new NeuralNetConfiguration.Builder()
                .seed(5)
                .updater(new Sgd(0.1))
                .convolutionMode(ConvolutionMode.Same)
                // DL4J's own batch normalization fails there with workspaces.
                .trainingWorkspaceMode(
                        frozen instanceof BatchNormalization ? WorkspaceMode.NONE : WorkspaceMode.ENABLED)
                .list()
                .layer(front(rank))
                .layer(new FrozenLayerWithBackprop(frozen.clone()))
                .layer(last)
                .setInputType(input)
                .build();
        return Networks.init(configuration);
    }

    @ParameterizedTest
    @MethodSource("layers")
    void gradientsFlowThroughAsInDl4j(Layer frozen, InputType input, long[] shape) {
        MultiLayerNetwork stock = network(frozen, input, shape.length);
        MultiLayerNetwork mixed = network(frozen, input, shape.length);
        AmpConfig config =
                AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();
        try (MixedPrecision amp = MixedPrecision.enable(mixed, config)) {
            for (int step = 0; step < 3; step++) {
                INDArray features = gaussian(new Random(step), 1, shape);
                INDArray labels = shape.length == 3
                        ? gaussian(new Random(step + 9), 1, 6, 2, 7)
                        : gaussian(new Random(step + 9), 1, 6, 2);
                stock.fit(new DataSet(features, labels));
                mixed.fit(new DataSet(features, labels));
            }
        }
        Agreement.assertWithin("parameters", stock.params(), mixed.params(), 1e-5);
    }
}
