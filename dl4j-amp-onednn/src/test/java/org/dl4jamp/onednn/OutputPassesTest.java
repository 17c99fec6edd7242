package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * Passes that return activations of single layers, between passes that return outputs alone: what groups computed at
 * once in these mustn't be taken for a part of those.
 */
class OutputPassesTest {
    private static final int WIDTH = 8;
    private static final int GROUPS = 6;

    private static AmpConfig inFloat() {
        return AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();
    }

    private static void assertSameNumbers(String what, INDArray expected, INDArray actual) {
        assertEquals(0, expected.sub(actual).amaxNumber().doubleValue(), 1e-5, what);
    }

    /**
     * Groups of a dense layer, its normalization and an activation function, all of one width: any layer takes the
     * network's output.
     */
    private static MultiLayerNetwork dense() {
        NeuralNetConfiguration.ListBuilder layers =
                Networks.builder(new Sgd(0.1)).list();
        for (int group = 0; group < GROUPS; group++) {
            layers.layer(new DenseLayer.Builder()
                            .nOut(WIDTH)
                            .activation(Activation.IDENTITY)
                            .build())
                    .layer(new BatchNormalization())
                    .layer(new ActivationLayer(Activation.TANH));
        }
        return Networks.init(layers.setInputType(InputType.feedForward(WIDTH)).build());
    }

    @Test
    void anOutputMayBeGivenToAnyLayerOfANetwork() {
        MultiLayerNetwork network = dense();
        MultiLayerNetwork stock = network.clone();
        INDArray x = Networks.uniform(1, 3, WIDTH);
        try (InferenceMode mode = MixedPrecision.inference(network, inFloat())) {
            for (int layer = 0; layer < 3 * GROUPS - 1; layer++) {
                INDArray output = network.output(x);
                assertSameNumbers("output", stock.output(x), output);
                assertSameNumbers(
                        "layer " + layer,
                        stock.activateSelectedLayers(layer, layer + 1, output.dup()),
                        network.activateSelectedLayers(layer, layer + 1, output));
                List<INDArray> all = network.feedForward(output, false);
                List<INDArray> expected = stock.feedForward(output, false);
                // DL4J's activation layers write over what the layers before them return.
                for (int i = 3; i < expected.size(); i += 3) {
                    assertSameNumbers("activation " + i, expected.get(i), all.get(i));
                }
            }
        }
    }

    /** The arrays in the engine's places are the same objects in each pass, that of the padding among them. */
    private static ComputationGraphConfiguration convolutions() {
        ComputationGraphConfiguration.GraphBuilder graph = Networks.builder(new Sgd(0.1))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.convolutional(6, 6, 4))
                .addLayer("padding", new ZeroPaddingLayer(1, 1), "in");
        String last = "padding";
        for (int group = 0; group < GROUPS; group++) {
            graph.addLayer(
                            "conv" + group,
                            new ConvolutionLayer.Builder(3, 3)
                                    .nOut(4)
                                    .convolutionMode(ConvolutionMode.Same)
                                    .activation(Activation.IDENTITY)
                                    .build(),
                            last)
                    .addLayer("tanh" + group, new ActivationLayer(Activation.TANH), "conv" + group);
            last = "tanh" + group;
        }
        return graph.addLayer("out", Networks.softmax(3), last)
                .setOutputs("out")
                .build();
    }

    /** Returns a convolution's activations by DL4J's layer, over which the network's next layer hasn't written. */
    private static INDArray convolved(ComputationGraph stock, int group, INDArray x) {
        INDArray before = stock.feedForward(x, false).get(group == 0 ? "padding" : "tanh" + (group - 1));
        return stock.getLayer("conv" + group).activate(before.dup(), false, LayerWorkspaceMgr.noWorkspaces());
    }

    private static void assertGivesConvolutions(ComputationGraph stock, ComputationGraph graph, INDArray x) {
        INDArray[] inputs = {x};
        for (int group = 0; group < GROUPS; group++) {
            assertSameNumbers("output", stock.outputSingle(x), graph.outputSingle(x));
            String layer = "conv" + group;
            assertSameNumbers(
                    layer, convolved(stock, group, x), graph.output(List.of(layer, "out"), false, inputs, null)[0]);
            assertSameNumbers(
                    layer,
                    convolved(stock, group, x),
                    graph.feedForward(x, false).get(layer));
        }
    }

    @Test
    void activationsOfSingleLayersComeFromTheLayersThemselves() {
        ComputationGraph graph = Networks.init(convolutions());
        ComputationGraph stock = graph.clone();
        try (InferenceMode mode = MixedPrecision.inference(graph, inFloat())) {
            assertGivesConvolutions(stock, graph, Networks.uniform(2, 2, 4, 6, 6));
        }
    }

    @Test
    void aPassThatFailedIsNoPartOfTheNext() {
        ComputationGraph graph = Networks.init(convolutions());
        ComputationGraph stock = graph.clone();
        INDArray x = Networks.uniform(3, 2, 4, 6, 6);
        try (InferenceMode mode = MixedPrecision.inference(graph, inFloat())) {
            assertSameNumbers("output", stock.outputSingle(x), graph.outputSingle(x));
            assertThrows(RuntimeException.class, () -> graph.outputSingle(Networks.uniform(4, 2, 3, 6, 6)));
            assertGivesConvolutions(stock, graph, x);
        }
    }
}
