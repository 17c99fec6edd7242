package org.dl4jamp.inspect.cost;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.StackVertex;
import org.deeplearning4j.nn.conf.graph.UnstackVertex;
import org.deeplearning4j.nn.conf.graph.rnn.DuplicateToTimeSeriesVertex;
import org.deeplearning4j.nn.conf.graph.rnn.LastTimeStepVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Shapes from a configuration have as many values as the arrays that DL4J computes. */
class ShapesTest {
    private static final int BATCH = 2;
    private static final int TIMESTEPS = 7;

    @Test
    void imagesAgree() {
        assertAgree(
                list(
                        InputType.convolutionalFlat(12, 10, 1),
                        new ConvolutionLayer.Builder(3, 3).nOut(4).build(),
                        new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                                .kernelSize(2, 2)
                                .stride(2, 2)
                                .build(),
                        new ConvolutionLayer.Builder(3, 3)
                                .nOut(5)
                                .convolutionMode(ConvolutionMode.Same)
                                .build(),
                        new DenseLayer.Builder().nOut(6).build(),
                        new OutputLayer.Builder().nOut(2).build()),
                Nd4j.rand(DataType.FLOAT, BATCH, 120));
    }

    @Test
    void sequencesAgreeAlsoWhereTimeStepsBecomeRows() {
        assertAgree(
                list(
                        InputType.recurrent(3),
                        new LSTM.Builder().nOut(4).build(),
                        new DenseLayer.Builder().nOut(6).build(),
                        new Bidirectional(new LSTM.Builder().nOut(5).build()),
                        new Convolution1DLayer.Builder(3).nOut(4).build(),
                        new RnnOutputLayer.Builder().nOut(2).build()),
                Nd4j.rand(DataType.FLOAT, BATCH, 3, TIMESTEPS));
    }

    @Test
    void lastTimeStepsAgree() {
        assertAgree(
                list(
                        InputType.recurrent(3),
                        new LastTimeStep(new LSTM.Builder().nOut(4).build()),
                        new OutputLayer.Builder().nOut(2).build()),
                Nd4j.rand(DataType.FLOAT, BATCH, 3, TIMESTEPS));
    }

    @Test
    void embeddedSequencesAgree() {
        MultiLayerConfiguration configuration = new NeuralNetConfiguration.Builder()
                .list()
                .layer(new EmbeddingSequenceLayer.Builder().nIn(20).nOut(4).build())
                .layer(new LSTM.Builder().nIn(4).nOut(5).build())
                .layer(new RnnOutputLayer.Builder().nIn(5).nOut(2).build())
                .validateOutputLayerConfig(false)
                .build();
        assertAgree(configuration, Nd4j.ones(DataType.FLOAT, BATCH, TIMESTEPS));
    }

    @Test
    void graphsAgree() {
        ComputationGraphConfiguration configuration = new NeuralNetConfiguration.Builder()
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.recurrent(3))
                .addLayer("lstm", new LSTM.Builder().nOut(4).build(), "in")
                .addVertex("last", new LastTimeStepVertex("in"), "lstm")
                .addLayer("dense", new DenseLayer.Builder().nOut(5).build(), "last")
                .addVertex("again", new DuplicateToTimeSeriesVertex("in"), "dense")
                .addVertex("both", new MergeVertex(), "again", "lstm")
                .addVertex("stacked", new StackVertex(), "dense", "dense")
                .addLayer("each", new DenseLayer.Builder().nOut(3).build(), "stacked")
                .addVertex("second", new UnstackVertex(1, 2), "each")
                .addLayer("out", new RnnOutputLayer.Builder().nOut(2).build(), "both")
                .addLayer("other", new OutputLayer.Builder().nOut(2).build(), "second")
                .setOutputs("out", "other")
                .validateOutputLayerConfig(false)
                .build();
        ComputationGraph network = new ComputationGraph(configuration);
        network.init();
        Map<String, INDArray> arrays =
                network.feedForward(new INDArray[] {Nd4j.rand(DataType.FLOAT, BATCH, 3, TIMESTEPS)}, false);
        NetworkGraph graph = NetworkGraph.of(configuration);
        Shapes shapes = shapes(graph);
        for (NetworkGraph.Node node : graph.nodes()) {
            assertEquals(
                    arrays.get(node.name()).length(),
                    BATCH * shapes.output(node.name()).orElseThrow().elements(),
                    node.name());
        }
    }

    @Test
    void anInputThatDoesNotFitIsRefused() {
        NetworkGraph graph = NetworkGraph.of(
                list(InputType.feedForward(3), new OutputLayer.Builder().nOut(2).build()));
        Map<String, Shape> wrong = Map.of("input", new Shape(InputType.feedForward(4)));
        String message = assertThrows(AmpException.class, () -> Shapes.of(graph, wrong, 1))
                .getMessage();
        assertTrue(message.contains("takes 3 values or channels, and gets 4"), message);
    }

    @Test
    void anImageThatIsTooSmallIsRefusedInOneLine() {
        NetworkGraph graph = NetworkGraph.of(list(
                InputType.convolutional(9, 9, 1),
                new ConvolutionLayer.Builder(5, 5).nOut(4).build(),
                new OutputLayer.Builder().nOut(2).build()));
        Map<String, Shape> wrong = Map.of("input", new Shape(InputType.convolutional(3, 3, 1)));
        String message = assertThrows(AmpException.class, () -> Shapes.of(graph, wrong, 1))
                .getMessage();
        assertTrue(message.startsWith("input shape: ConvolutionLayer \"layer0\" makes nothing of 1x3x3"), message);
        assertEquals(1, message.lines().count());
    }

    private static void assertAgree(MultiLayerConfiguration configuration, INDArray input) {
        MultiLayerNetwork network = new MultiLayerNetwork(configuration);
        network.init();
        List<INDArray> arrays = network.feedForward(input);
        NetworkGraph graph = NetworkGraph.of(configuration);
        Shapes shapes = shapes(graph);
        for (NetworkGraph.Node node : graph.nodes()) {
            assertEquals(
                    arrays.get(node.index() + 1).length(),
                    BATCH * shapes.output(node.name()).orElseThrow().elements(),
                    node.name());
        }
    }

    /** Returns the shapes with those of the inputs told from the first layers. */
    private static Shapes shapes(NetworkGraph graph) {
        return Shapes.of(graph, new NetworkInputs(graph, TIMESTEPS).shapes(List.of()), TIMESTEPS);
    }

    private static MultiLayerConfiguration list(InputType input, Layer... layers) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder().list();
        for (Layer layer : layers) {
            list.layer(layer);
        }
        return list.setInputType(input).validateOutputLayerConfig(false).build();
    }
}
