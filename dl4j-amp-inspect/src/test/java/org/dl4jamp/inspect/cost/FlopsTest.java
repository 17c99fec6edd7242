package org.dl4jamp.inspect.cost;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocallyConnected2D;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.dl4jamp.policy.NetworkGraph;
import org.junit.jupiter.api.Test;

/** The operations of each kind of layer are those that its formula gives by hand. */
class FlopsTest {
    private static final InputType IMAGE = InputType.convolutional(6, 5, 3);
    private static final InputType SEQUENCE = InputType.recurrent(3, 7);

    @Test
    void aDenseLayerMultipliesEachInputWithEachOutput() {
        assertEquals(4 * (2 * 3 + 1), flops(dense(), InputType.feedForward(3)));
        Layer withoutBias =
                new DenseLayer.Builder().nIn(3).nOut(4).hasBias(false).build();
        assertEquals(4 * 2 * 3, flops(withoutBias, InputType.feedForward(3)));
    }

    @Test
    void anOutputLayerCountsAsADenseOne() {
        assertEquals(
                2 * (2 * 3 + 1), flops(new OutputLayer.Builder().nIn(3).nOut(2).build(), InputType.feedForward(3)));
    }

    @Test
    void aConvolutionMultipliesAWindowForEachOutputValue() {
        // 3x3 over 6x5 without padding: 4x3 positions.
        Layer layer = new ConvolutionLayer.Builder(3, 3).nIn(3).nOut(8).build();
        assertEquals(4 * 3 * 8 * (2 * 3 * 3 * 3 + 1), flops(layer, IMAGE));
    }

    @Test
    void aStrideMakesFewerOutputValues() {
        Layer layer = new ConvolutionLayer.Builder(2, 3)
                .stride(2, 1)
                .nIn(3)
                .nOut(8)
                .hasBias(false)
                .build();
        assertEquals(3 * 3 * 8 * (2 * 2 * 3 * 3), flops(layer, IMAGE));
    }

    @Test
    void aConvolutionInOneDimension() {
        Layer layer = new Convolution1DLayer.Builder(3).nIn(3).nOut(8).build();
        assertEquals(5 * 8 * (2 * 3 * 3 + 1), flops(layer, SEQUENCE));
    }

    @Test
    void aConvolutionInThreeDimensions() {
        Layer layer = new Convolution3D.Builder(2, 2, 2).nIn(3).nOut(4).build();
        assertEquals(3 * 4 * 5 * 4 * (2 * 8 * 3 + 1), flops(layer, InputType.convolutional3D(4, 5, 6, 3)));
    }

    @Test
    void aDeconvolutionMultipliesEachInputValueWithTheKernels() {
        Layer layer =
                new Deconvolution2D.Builder(2, 2).stride(2, 2).nIn(3).nOut(4).build();
        assertEquals(2 * (6 * 5 * 3) * (2 * 2) * 4 + 12 * 10 * 4, flops(layer, IMAGE));
    }

    @Test
    void aDepthwiseConvolutionMultipliesWithinAChannel() {
        Layer layer = new DepthwiseConvolution2D.Builder(3, 3)
                .nIn(3)
                .nOut(6)
                .depthMultiplier(2)
                .build();
        assertEquals(4 * 3 * 6 * (2 * 9 + 1), flops(layer, IMAGE));
    }

    @Test
    void aSeparableConvolutionIsADepthwiseOneAndOneOfPoints() {
        Layer layer = new SeparableConvolution2D.Builder(3, 3)
                .nIn(3)
                .nOut(8)
                .depthMultiplier(2)
                .build();
        assertEquals(4 * 3 * (6 * 2 * 9 + 8 * 2 * 6 + 8), flops(layer, IMAGE));
    }

    @Test
    void aLocallyConnectedLayerCountsAsAConvolution() {
        LocallyConnected2D layer = new LocallyConnected2D.Builder()
                .kernelSize(3, 3)
                .nIn(3)
                .nOut(8)
                .setInputSize(6, 5)
                .convolutionMode(ConvolutionMode.Truncate)
                .build();
        layer.computeOutputSize();
        assertEquals(4 * 3 * 8 * (2 * 3 * 3 * 3 + 1), flops(layer, IMAGE));
    }

    @Test
    void anLstmHasFourGatesAndAState() {
        Layer layer = new LSTM.Builder().nIn(3).nOut(5).build();
        assertEquals(7 * (4 * 5 * (2 * (3 + 5) + 1) + 4 * 5), flops(layer, SEQUENCE));
    }

    @Test
    void aGravesLstmHasPeepholesToo() {
        Layer layer = new GravesLSTM.Builder().nIn(3).nOut(5).build();
        assertEquals(7 * (4 * 5 * (2 * (3 + 5) + 1) + 4 * 5 + 3 * 2 * 5), flops(layer, SEQUENCE));
    }

    @Test
    void wrappersCountAsWhatTheyWrap() {
        Layer simple = new SimpleRnn.Builder().nIn(3).nOut(5).build();
        long one = 7 * 5 * (2 * (3 + 5) + 1);
        assertEquals(one, flops(simple, SEQUENCE));
        assertEquals(one, flops(new LastTimeStep(simple), SEQUENCE));
        assertEquals(one, flops(new FrozenLayer(simple), SEQUENCE));
        assertEquals(2 * one, flops(new Bidirectional(Bidirectional.Mode.CONCAT, simple.clone()), SEQUENCE));
        assertEquals(2 * one + 7 * 5, flops(new Bidirectional(Bidirectional.Mode.ADD, simple.clone()), SEQUENCE));
    }

    @Test
    void batchNormalizationScalesAndShifts() {
        assertEquals(
                2 * 6 * 5 * 3, flops(new BatchNormalization.Builder().nOut(3).build(), IMAGE));
    }

    @Test
    void poolingReadsAWindowForEachOutputValue() {
        Layer max = new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX, new int[] {2, 2}, new int[] {2, 2})
                .build();
        assertEquals(3 * 2 * 3 * 4, flops(max, IMAGE));
        assertEquals(6 * 5 * 3, flops(new GlobalPoolingLayer(PoolingType.AVG), IMAGE));
    }

    @Test
    void anEmbeddingLooksUp() {
        assertEquals(0, flops(new EmbeddingLayer.Builder().nIn(100).nOut(4).build(), InputType.feedForward(1)));
    }

    @Test
    void aLayerOfAUsersIsUnknown() {
        Own own = new Own();
        own.setNIn(3);
        own.setNOut(4);
        assertEquals(OptionalLong.empty(), known(own, InputType.feedForward(3)));
    }

    @Test
    void verticesCountTheirSums() {
        assertEquals(2 * 3, vertex(new ElementWiseVertex(ElementWiseVertex.Op.Add), 3));
        assertEquals(3 * 3, vertex(new ElementWiseVertex(ElementWiseVertex.Op.Average), 3));
        assertEquals(3, vertex(new ScaleVertex(2), 1));
        assertEquals(0, vertex(new MergeVertex(), 2));
    }

    /** A layer of a user's. */
    private static final class Own extends DenseLayer {
        private static final long serialVersionUID = 1L;
    }

    private static Layer dense() {
        return new DenseLayer.Builder().nIn(3).nOut(4).build();
    }

    private static long flops(Layer layer, InputType in) {
        return known(layer, in).orElseThrow();
    }

    /** Returns the operations of a layer that has a network's defaults. */
    private static OptionalLong known(Layer layer, InputType type) {
        Layer complete = new NeuralNetConfiguration.Builder()
                .list()
                .layer(layer)
                .validateOutputLayerConfig(false)
                .build()
                .getConf(0)
                .getLayer();
        Shape in = new Shape(type);
        return LayerFlops.of(complete, in, Shapes.behind(complete, in));
    }

    /** Returns the operations of a vertex with inputs of three values. */
    private static long vertex(GraphVertex vertex, int inputs) {
        String[] names = List.of("a", "b", "c").subList(0, inputs).toArray(String[]::new);
        ComputationGraphConfiguration configuration = new NeuralNetConfiguration.Builder()
                .graphBuilder()
                .addInputs(names)
                .addVertex("v", vertex, names)
                .addLayer("out", new OutputLayer.Builder().nIn(3).nOut(2).build(), "v")
                .setOutputs("out")
                .validateOutputLayerConfig(false)
                .build();
        NetworkGraph graph = NetworkGraph.of(configuration);
        Map<String, Shape> shapes = new HashMap<>();
        for (String name : names) {
            shapes.put(name, new Shape(InputType.feedForward(3)));
        }
        NetworkGraph only = new NetworkGraph(graph.nodes().stream()
                .filter(node -> !node.name().equals("out"))
                .toList());
        return Flops.of(graph.node("v"), Shapes.of(only, shapes, 1)).orElseThrow();
    }
}
