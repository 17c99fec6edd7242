package org.dl4jamp.engine.nd4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Chain;
import org.dl4jamp.Gradients;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.TwinSetup;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Twin;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Twins over HALF weights, run backward where the loss isn't scaled, against DL4J's layers in FP32. */
class UnscaledTwinsTest {
    private record Case(Layer conf, INDArray input, INDArray output) {}

    private static INDArray normal(long... shape) {
        return Nd4j.randn(DataType.FLOAT, shape);
    }

    private static Stream<Case> cases() {
        return cases(Activation.TANH);
    }

    private static Stream<Case> cases(Activation activation) {
        var dense = Networks.dense(7, activation);
        dense.setNIn(9);
        var convolution = Networks.convolution(3, 4);
        convolution.setNIn(3);
        return Stream.of(
                new Case(dense, normal(5, 9), normal(5, 7)),
                new Case(convolution, normal(2, 3, 6, 6), normal(2, 4, 6, 6)),
                new Case(new LSTM.Builder().nIn(5).nOut(6).build(), normal(3, 5, 4), normal(3, 6, 4)),
                new Case(Networks.selfAttention(6, 6, 2), normal(3, 6, 4), normal(3, 6, 4)));
    }

    private static Stream<Arguments> sizes() {
        return cases().flatMap(one -> Stream.of(1e-12, 1e-7, 1.0, 1e5, 1e20).map(size -> Arguments.of(one, size, 0.3)));
    }

    /** Weights whose products don't fit into HALF at the scale that suits what goes in. */
    private static Stream<Arguments> largeWeights() {
        return cases(Activation.IDENTITY)
                .filter(one -> !(one.conf instanceof LSTM) && !(one.conf instanceof SelfAttentionLayer))
                .map(one -> Arguments.of(one, 1.0, 3000.0));
    }

    @ParameterizedTest
    @MethodSource({"sizes", "largeWeights"})
    void gradientsAreThoseOfFp32(Case one, double size, double weights) {
        Nd4j.getRandom().setSeed(5);
        INDArray params = Nd4j.randn(DataType.FLOAT, 1, TwinHarness.numberOfParams(one.conf))
                .muli(weights);
        INDArray input = one.input.mul(0.01);
        INDArray epsilon = one.output.mul(size);
        Pair<Gradient, INDArray> expected = run(SingleLayer.dl4j(one.conf, params), input, epsilon);
        Pair<Gradient, INDArray> actual = run(twin(one.conf, params), input.castTo(DataType.HALF), epsilon);
        assertEquals(DataType.FLOAT, actual.getSecond().dataType());
        expected.getFirst()
                .gradientForVariable()
                .forEach((name, gradient) ->
                        assertAlike(name, gradient, actual.getFirst().getGradientFor(name)));
        assertAlike("input", expected.getSecond(), actual.getSecond());
    }

    @Test
    void anErrorOfZeroGivesZeroAndNanGivesNan() {
        Case one = cases().findFirst().orElseThrow();
        INDArray params = Nd4j.randn(DataType.FLOAT, 1, TwinHarness.numberOfParams(one.conf));
        INDArray input = one.input.castTo(DataType.HALF);
        INDArray epsilon = one.output.mul(0);
        assertEquals(
                0,
                run(twin(one.conf, params), input, epsilon)
                        .getSecond()
                        .norm1Number()
                        .doubleValue());
        epsilon.putScalar(0, Float.NaN);
        assertTrue(Double.isNaN(run(twin(one.conf, params), input, epsilon)
                .getSecond()
                .norm1Number()
                .doubleValue()));
    }

    private static TwinLayer twin(Layer conf, INDArray params) {
        org.deeplearning4j.nn.api.Layer master = SingleLayer.dl4j(conf, params);
        Nd4jSession session = new Nd4jSession(
                params.length(), true, Optional.of(Products.fast().orElse(Products.CAST)));
        Twin twin = session.twin(Chain.request(master, Precision.HALF, DataType.HALF));
        assertEquals(DataType.HALF, twin.dataType());
        GradientScale scale = new GradientScale(() -> 65536, () -> false, true, false);
        return new TwinSetup(
                        "layer", master, twin, DataType.HALF, DataType.HALF, Chain.CONTEXT, scale, SingleLayer.NO_STEP)
                .wrapper();
    }

    private static Pair<Gradient, INDArray> run(
            org.deeplearning4j.nn.api.Layer layer, INDArray input, INDArray epsilon) {
        layer.activate(input, true, LayerWorkspaceMgr.noWorkspaces());
        return layer.backpropGradient(epsilon.dup(), LayerWorkspaceMgr.noWorkspaces());
    }

    private static void assertAlike(String what, INDArray expected, INDArray actual) {
        double large = expected.amaxNumber().doubleValue();
        INDArray one = expected.div(large);
        INDArray other = actual.div(large);
        double cosine = Gradients.cosine(one, other);
        assertTrue(cosine > 0.999, () -> what + ": cosine similarity " + cosine);
        assertEquals(
                1,
                other.norm2Number().doubleValue() / one.norm2Number().doubleValue(),
                0.01,
                () -> "length of " + what);
    }
}
