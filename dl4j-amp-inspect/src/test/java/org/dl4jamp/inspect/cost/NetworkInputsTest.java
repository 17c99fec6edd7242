package org.dl4jamp.inspect.cost;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sizes of inputs are told from the first layers, or a user gives them; what's missing or wrong is refused. */
class NetworkInputsTest {
    private static final int TIMESTEPS = 9;

    private static final Layer DENSE = new DenseLayer.Builder().nIn(4).nOut(2).build();
    private static final Layer LSTM = new LSTM.Builder().nIn(4).nOut(2).build();
    private static final Layer CONVOLUTION =
            new ConvolutionLayer.Builder(3, 3).nIn(3).nOut(2).build();

    @Test
    void denseAndRecurrentLayersTellTheirs() {
        assertEquals("4", shape(List.of(), DENSE));
        assertEquals("4x9", shape(List.of(), LSTM));
        assertEquals("4x9", shape(List.of(), new Bidirectional(LSTM.clone())));
        assertEquals("4", shape(List.of(), new ActivationLayer.Builder().build(), DENSE));
    }

    @Test
    void imagesHaveToBeGiven() {
        assertRefused("add --input 3,HEIGHT,WIDTH", List.of(), CONVOLUTION);
        assertRefused("add --input 3,HEIGHT,WIDTH", List.of(), new ZeroPaddingLayer(1, 1), CONVOLUTION);
        assertRefused(
                "add --input 3,DEPTH,HEIGHT,WIDTH",
                List.of(),
                new Convolution3D.Builder(2, 2, 2).nIn(3).nOut(2).build());
        assertEquals("3x8x6", shape(List.of("3,8,6"), CONVOLUTION));
    }

    @Test
    void aFormatIsThatOfTheFirstConvolution() {
        Layer last = new ConvolutionLayer.Builder(3, 3)
                .nIn(3)
                .nOut(2)
                .dataFormat(CNN2DFormat.NHWC)
                .build();
        Shape shape = inputs(last).shapes(List.of("3,8,6")).get("input");
        assertEquals(InputType.convolutional(8, 6, 3, CNN2DFormat.NHWC), shape.type());
    }

    @Test
    void oneNumberForASequenceIsItsSizeAndTwoHaveTheTimeSteps() {
        assertEquals("4x9", shape(List.of("4"), LSTM));
        assertEquals("4x50", shape(List.of("4,50"), LSTM));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a", "3,", "3,0,2", "3,-1,2", "1,2,3,4,5", "3x2x2", "99999999999"})
    void whatIsNoSizeIsRefused(String text) {
        assertRefused("must be one to four whole numbers", List.of(text), DENSE);
    }

    @Test
    void theNumberOfInputsHasToAgree() {
        assertRefused("given 2 times, but the network has 1 inputs, [input]", List.of("4", "4"), DENSE);
    }

    @Test
    void inputsThatAreMergedHaveToBeGiven() {
        NetworkGraph graph = NetworkGraph.of(new NeuralNetConfiguration.Builder()
                .graphBuilder()
                .addInputs("a", "b")
                .addVertex("both", new MergeVertex(), "a", "b")
                .addLayer("out", new OutputLayer.Builder().nIn(7).nOut(2).build(), "both")
                .setOutputs("out")
                .validateOutputLayerConfig(false)
                .build());
        NetworkInputs inputs = new NetworkInputs(graph, TIMESTEPS);
        String message =
                assertThrows(AmpException.class, () -> inputs.shapes(List.of())).getMessage();
        assertTrue(message.contains("\"a\": add --input SIZES, and an --input for each of the 2 inputs"), message);
        assertEquals("4", inputs.shapes(List.of("3", "4")).get("b").toString());
    }

    private static void assertRefused(String why, List<String> given, Layer... layers) {
        String message =
                assertThrows(AmpException.class, () -> shape(given, layers)).getMessage();
        assertTrue(message.contains(why), message);
    }

    private static String shape(List<String> given, Layer... layers) {
        return inputs(layers).shapes(given).get("input").toString();
    }

    private static NetworkInputs inputs(Layer... layers) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder().list();
        for (Layer layer : layers) {
            list.layer(layer);
        }
        return new NetworkInputs(
                NetworkGraph.of(list.validateOutputLayerConfig(false).build()), TIMESTEPS);
    }
}
