package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.NoLossScaler;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;

/** Gradients that are no step's: their loss isn't scaled, and they lower no scale. */
class UnscaledGradientsTest {
    private static final double ALIGNED = 0.999;

    private static List<LossScaler> scalers() {
        return List.of(DynamicLossScaler.builder().build(), new StaticLossScaler(1 << 24), new NoLossScaler());
    }

    /** The scale of 65536 doesn't fit into HALF, and neither does that of a sum of gradients of about 1. */
    @Test
    void thoseOfOneExampleAreRightAtAnyLossScale() {
        DataSet one = Networks.vectors(1, 20, 3);
        MultiLayerNetwork fp32 = Networks.init(Networks.mlp());
        Pair<Gradient, INDArray> expected = fp32.calculateGradients(one.getFeatures(), one.getLabels(), null, null);
        for (LossScaler scaler : scalers()) {
            MultiLayerNetwork network = fp32.clone();
            MixedPrecision amp = MixedPrecision.enable(network, Configs.half(scaler));
            for (int i = 0; i < 2; i++) {
                Pair<Gradient, INDArray> actual =
                        network.calculateGradients(one.getFeatures(), one.getLabels(), null, null);
                Gradients.assertAligned(
                        expected.getFirst().gradientForVariable(),
                        actual.getFirst().gradientForVariable(),
                        ALIGNED);
                assertEquals(DataType.FLOAT, actual.getSecond().dataType());
                Comparison.assertClose(expected.getSecond(), actual.getSecond(), 0.01, "gradient of the input");
            }
            network.setInput(one.getFeatures());
            network.setLabels(one.getLabels());
            network.computeGradientAndScore();
            Gradients.assertAligned(
                    expected.getFirst().gradientForVariable(),
                    network.gradient().gradientForVariable(),
                    ALIGNED);
            assertEquals(scaler.scale(), amp.lossScale());
            assertEquals(0, amp.stepsTaken() + amp.stepsSkipped());
        }
    }

    @Test
    void thoseOfARecurrentNetworkAndOfAGraphAreRightToo() {
        DataSet sequence = Networks.sequences(1, 5, 3, 6);
        MultiLayerNetwork lstm = Networks.init(Networks.lstm());
        MultiLayerNetwork half = lstm.clone();
        MixedPrecision.enable(half, Configs.half(new StaticLossScaler(1 << 24)));
        Gradients.assertAligned(
                lstm.calculateGradients(sequence.getFeatures(), sequence.getLabels(), null, null)
                        .getFirst()
                        .gradientForVariable(),
                half.calculateGradients(sequence.getFeatures(), sequence.getLabels(), null, null)
                        .getFirst()
                        .gradientForVariable(),
                ALIGNED);

        DataSet images = Networks.images(2, 3, 8, 3);
        ComputationGraph graph = Networks.init(Networks.residual());
        ComputationGraph halfGraph = graph.clone();
        MixedPrecision.enable(halfGraph, Configs.half(new StaticLossScaler(1 << 24)));
        for (ComputationGraph each : List.of(graph, halfGraph)) {
            each.setInputs(images.getFeatures());
            each.setLabels(images.getLabels());
            each.computeGradientAndScore();
        }
        Comparison.assertGradients(Gradients.copy(graph), Gradients.copy(halfGraph), Comparison.Tolerance.COARSE);
    }

    private static MultiLayerNetwork withoutOutputLayer() {
        return Networks.init(Networks.builder(new Sgd(0.1))
                .list()
                .layer(Networks.dense(12, Activation.TANH))
                .layer(Networks.dense(10, Activation.TANH))
                .layer(Networks.dense(3, Activation.IDENTITY))
                .setInputType(InputType.feedForward(20))
                .build());
    }

    /** FP16 goes from 6e-8 to 65504. */
    @ParameterizedTest
    @ValueSource(doubles = {1e-12, 1e-7, 1, 1e7})
    void errorsFromOutsideMayHaveAnySize(double size) {
        MultiLayerNetwork fp32 = withoutOutputLayer();
        MultiLayerNetwork half = fp32.clone();
        MixedPrecision.enable(half, Configs.half(DynamicLossScaler.builder().build()));
        INDArray features = Networks.vectors(8, 20, 3).getFeatures();
        INDArray errors = Networks.gaussian(1, 8, 3).muli(size);
        Pair<Gradient, INDArray> expected = ofErrors(fp32, features, errors);
        Pair<Gradient, INDArray> actual = ofErrors(half, features, errors);
        Gradients.assertAligned(
                expected.getFirst().gradientForVariable(), actual.getFirst().gradientForVariable(), ALIGNED);
        assertFalse(expected.getSecond().sumNumber().doubleValue() == 0);
        INDArray difference = expected.getSecond().sub(actual.getSecond());
        assertEquals(
                0,
                difference.norm2Number().doubleValue()
                        / expected.getSecond().norm2Number().doubleValue(),
                0.01);
    }

    private static Pair<Gradient, INDArray> ofErrors(MultiLayerNetwork network, INDArray features, INDArray errors) {
        network.setInput(features);
        network.feedForward(true, false);
        return network.backpropGradient(errors.dup(), null);
    }

    @ParameterizedTest
    @ValueSource(doubles = {1e-9, 1e7})
    void errorsOfAGraphMayHaveAnySizeWhateverItsVertices(double size) {
        ComputationGraph fp32 = Networks.init(Networks.builder(new Sgd(0.1))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.feedForward(20))
                .addLayer("a", Networks.dense(12, Activation.TANH), "in")
                .addLayer("b", Networks.dense(12, Activation.SIGMOID), "in")
                .addLayer("gate", Networks.dense(1, Activation.SIGMOID), "in")
                .addVertex("product", new ElementWiseVertex(ElementWiseVertex.Op.Product), "a", "b")
                .addVertex("gated", new ElementWiseVertex(ElementWiseVertex.Op.Product), "product", "gate")
                .addVertex("largest", new ElementWiseVertex(ElementWiseVertex.Op.Max), "a", "b")
                .addVertex("merge", new MergeVertex(), "gated", "largest", "a")
                .addLayer("last", Networks.dense(3, Activation.IDENTITY), "merge")
                .setOutputs("last")
                .build());
        ComputationGraph half = fp32.clone();
        MixedPrecision amp = MixedPrecision.enable(
                half, Configs.half(DynamicLossScaler.builder().build()));
        assertEquals(Precision.HALF, amp.plan().row("gated").output());
        INDArray features = Networks.vectors(8, 20, 3).getFeatures();
        INDArray errors = Networks.gaussian(2, 8, 3).muli(size);
        Map<String, INDArray> expected = ofErrors(fp32, features, errors);
        Map<String, INDArray> actual = ofErrors(half, features, errors);
        Gradients.assertAligned(expected, actual, 0.99);
    }

    private static Map<String, INDArray> ofErrors(ComputationGraph graph, INDArray features, INDArray errors) {
        graph.feedForward(new INDArray[] {features}, true, false);
        return graph.backpropGradient(errors.dup()).gradientForVariable();
    }
}
