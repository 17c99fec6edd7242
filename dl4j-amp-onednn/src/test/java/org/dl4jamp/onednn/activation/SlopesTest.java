package org.dl4jamp.onednn.activation;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.constraint.NonNegativeConstraint;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationGELU;
import org.nd4j.linalg.activations.impl.ActivationLReLU;
import org.nd4j.linalg.activations.impl.ActivationPReLU;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * Where a function has a corner, its slope is the one that ND4J takes: exact zeros aren't rare, as constraints, padding
 * and biases that begin at zero make them.
 */
class SlopesTest {
    private static final float[] CORNERS = {-6, -3, -1, -0f, 0, 1, 3, 6};
    private static final float EPSILON = -2;

    static Stream<IActivation> functions() {
        Stream<IActivation> usual = Arrays.stream(Activation.values()).map(Activation::getActivationFunction);
        return Stream.concat(usual, Stream.of(new ActivationLReLU(0.3)))
                .filter(function -> !(function instanceof ActivationPReLU))
                .filter(function -> Eltwise.of(function).isPresent());
    }

    @ParameterizedTest
    @MethodSource("functions")
    void slopesAtCornersAreThoseOfNd4j(IActivation function) {
        INDArray values = Nd4j.createFromArray(CORNERS).reshape(1, CORNERS.length);
        INDArray epsilon = values.like().assign(EPSILON);
        INDArray slopes = values.like();

        try (OneDnnContext context = new OneDnnContext();
                ActivationFunction computed = new ActivationFunction(context, function)) {
            computed.backwardFrom("layer", values, epsilon, slopes);
        }

        float[] expected = function.backprop(values.dup(), epsilon.dup())
                .getFirst()
                .dup('c')
                .data()
                .asFloat();
        assertArrayEquals(expected, slopes.data().asFloat(), 1e-5f, function.toString());
    }

    @Test
    void aLeakyReluWithoutALeakIsntReluToo() {
        assertEquals(Optional.empty(), Eltwise.of(new ActivationLReLU(0)));
    }

    /** ND4J's is {@code 0.5 x (1 + tanh(sqrt(2 / pi) x))}, -0.1686 at -1: the paper's function is -0.1588 there. */
    @Test
    void thePreciseGeluIsNd4js() {
        Layer dense = new DenseLayer.Builder()
                .nOut(6)
                .activation(new ActivationGELU(true))
                .build();
        Layer output = Networks.regression(2);
        compare(
                configuration(InputType.feedForward(3), dense, output),
                Nd4j.createFromArray(new float[][] {{-1, 2, 0.5f}, {1, -2, 3}}),
                Nd4j.createFromArray(new float[][] {{1, 0}, {0, 1}}));
    }

    @Test
    void rowsOfAnEmbeddingThatAConstraintHoldsAtZeroLearn() {
        Layer embedding = new EmbeddingLayer.Builder()
                .nIn(4)
                .nOut(5)
                .activation(new ActivationLReLU(0.3))
                .constrainWeights(new NonNegativeConstraint())
                .build();
        Layer output = Networks.softmax(2);
        INDArray labels = Nd4j.createFromArray(new float[][] {{1, 0}, {0, 1}, {1, 0}});
        compare(
                configuration(InputType.feedForward(4), embedding, output),
                Nd4j.createFromArray(new float[][] {{0}, {3}, {0}}),
                labels);
    }

    @Test
    void timeStepsWithoutInputLearn() {
        Layer recurrent = new SimpleRnn.Builder()
                .nOut(3)
                .activation(new ActivationLReLU(0.3))
                .build();
        Layer output = Networks.rnnRegression(2);
        INDArray features = Nd4j.zeros(2, 2, 4);
        features.putScalar(0, 1, 2, 1.5);
        compare(configuration(InputType.recurrent(2, 4), recurrent, output), features, Nd4j.ones(2, 2, 4));
    }

    private static MultiLayerConfiguration configuration(InputType input, Layer... layers) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(7)
                .weightInit(WeightInit.XAVIER)
                .updater(new Sgd(0.1))
                .list(layers);
        return list.setInputType(input).build();
    }

    private static void compare(MultiLayerConfiguration configuration, INDArray features, INDArray labels) {
        MultiLayerNetwork stock = Networks.init(configuration.clone());
        MultiLayerNetwork net = stock.clone();
        MixedPrecision amp = MixedPrecision.enable(
                net,
                AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build());
        for (int step = 0; step < 3; step++) {
            stock.fit(features, labels);
            net.fit(features, labels);
            assertArrayEquals(
                    stock.params().data().asFloat(),
                    net.params().data().asFloat(),
                    1e-5f,
                    "parameters after step " + step);
        }
        assertEquals(stock.score(), net.score(), 1e-5);
        amp.close();
    }
}
