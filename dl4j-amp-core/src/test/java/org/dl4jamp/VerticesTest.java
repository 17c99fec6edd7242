package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.L2NormalizeVertex;
import org.deeplearning4j.nn.conf.graph.L2Vertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.PoolHelperVertex;
import org.deeplearning4j.nn.conf.graph.PreprocessorVertex;
import org.deeplearning4j.nn.conf.graph.ReshapeVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.graph.ShiftVertex;
import org.deeplearning4j.nn.conf.graph.StackVertex;
import org.deeplearning4j.nn.conf.graph.SubsetVertex;
import org.deeplearning4j.nn.conf.graph.UnstackVertex;
import org.deeplearning4j.nn.conf.graph.rnn.DuplicateToTimeSeriesVertex;
import org.deeplearning4j.nn.conf.graph.rnn.LastTimeStepVertex;
import org.deeplearning4j.nn.conf.graph.rnn.ReverseTimeSeriesVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.preprocessor.CnnToFeedForwardPreProcessor;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.learning.config.Adam;

/** Every vertex of DL4J between layers in half precision, against FP32. */
class VerticesTest {
    private static final DataSet VECTORS = Networks.vectors(32, 10, 3);
    private static final DataSet SEQUENCES = Networks.maskedSequences(8, 5, 3, 6);

    private static GraphBuilder builder(InputType... inputs) {
        String[] names = inputs.length == 1 ? new String[] {"x"} : new String[] {"x", "y"};
        return Networks.builder(new Adam(1e-3))
                .graphBuilder()
                .addInputs(names)
                .setInputTypes(inputs)
                .setOutputs("out");
    }

    private static VertexCase ofVectors(String name, GraphBuilder graph) {
        INDArray features = VECTORS.getFeatures();
        return new VertexCase(
                name,
                graph.build(),
                new MultiDataSet(
                        new INDArray[] {features, features.mul(-0.5).addi(0.3)}, new INDArray[] {VECTORS.getLabels()}));
    }

    private static VertexCase afterTwoDenseLayers(String name, GraphVertex vertex) {
        return ofVectors(
                name,
                builder(InputType.feedForward(10), InputType.feedForward(10))
                        .addLayer("a", Networks.dense(8, Activation.TANH), "x")
                        .addLayer("b", Networks.dense(8, Activation.TANH), "y")
                        .addVertex("vertex", vertex, "a", "b")
                        .addLayer("c", Networks.dense(6, Activation.TANH), "vertex")
                        .addLayer("out", Networks.softmax(3), "c"));
    }

    private static VertexCase afterOneDenseLayer(String name, GraphVertex vertex) {
        return ofVectors(
                name,
                builder(InputType.feedForward(10), InputType.feedForward(10))
                        .addLayer("a", Networks.dense(8, Activation.TANH), "x")
                        .addLayer("b", Networks.dense(8, Activation.TANH), "y")
                        .addVertex("vertex", vertex, "a")
                        .addLayer("c", Networks.dense(6, Activation.TANH), "vertex")
                        .addVertex("both", new MergeVertex(), "b", "c")
                        .addLayer("out", Networks.softmax(3), "both"));
    }

    private static Stream<VertexCase> elementWise() {
        return Stream.of(ElementWiseVertex.Op.values())
                .map(operation -> afterTwoDenseLayers("element-wise " + operation, new ElementWiseVertex(operation)));
    }

    static Stream<VertexCase> ofVectors() {
        return Stream.concat(
                elementWise(),
                Stream.of(
                        afterTwoDenseLayers("merge", new MergeVertex()),
                        afterTwoDenseLayers("distance", new L2Vertex()),
                        afterOneDenseLayer("subset", new SubsetVertex(2, 5)),
                        afterOneDenseLayer("scale", new ScaleVertex(1.7)),
                        afterOneDenseLayer("shift", new ShiftVertex(0.4)),
                        afterOneDenseLayer("reshape", new ReshapeVertex(-1, 8)),
                        afterOneDenseLayer("normalize", new L2NormalizeVertex()),
                        stacked()));
    }

    /** One layer that serves two inputs, as in a siamese network. */
    private static VertexCase stacked() {
        return ofVectors(
                "stack and unstack",
                builder(InputType.feedForward(10), InputType.feedForward(10))
                        .addLayer("a", Networks.dense(8, Activation.TANH), "x")
                        .addLayer("b", Networks.dense(8, Activation.TANH), "y")
                        .addVertex("stack", new StackVertex(), "a", "b")
                        .addLayer("shared", Networks.dense(7, Activation.TANH), "stack")
                        .addVertex("first", new UnstackVertex(0, 2), "shared")
                        .addVertex("second", new UnstackVertex(1, 2), "shared")
                        .addVertex("both", new MergeVertex(), "first", "second")
                        .addLayer("c", Networks.dense(6, Activation.TANH), "both")
                        .addLayer("out", Networks.softmax(3), "c"));
    }

    private static VertexCase ofImages(String name, GraphVertex vertex, Layer behind) {
        DataSet images = Networks.images(8, 3, 8, 3);
        return new VertexCase(
                name,
                builder(InputType.convolutional(8, 8, 3))
                        .addLayer("a", Networks.convolution(3, 6), "x")
                        .addVertex("vertex", vertex, "a")
                        .addLayer("b", behind, "vertex")
                        .addLayer("out", Networks.softmax(3), "b")
                        .build(),
                new MultiDataSet(images.getFeatures(), images.getLabels()));
    }

    static Stream<VertexCase> ofImages() {
        return Stream.of(
                ofImages("pool helper", new PoolHelperVertex(), new GlobalPoolingLayer(PoolingType.AVG)),
                ofImages(
                        "preprocessor",
                        new PreprocessorVertex(new CnnToFeedForwardPreProcessor(8, 8, 6)),
                        Networks.dense(6, Activation.TANH)),
                ofImages("reshape to vectors", new ReshapeVertex(-1, 8 * 8 * 6), Networks.dense(6, Activation.TANH)));
    }

    private static VertexCase ofSequences(String name, GraphBuilder graph) {
        INDArray[] masks = {SEQUENCES.getFeaturesMaskArray()};
        return new VertexCase(
                name,
                graph.build(),
                new MultiDataSet(
                        new INDArray[] {SEQUENCES.getFeatures()},
                        new INDArray[] {SEQUENCES.getLabels()},
                        masks,
                        masks));
    }

    private static LSTM lstm(int out) {
        return new LSTM.Builder().nOut(out).build();
    }

    private static GraphBuilder behindLstm() {
        return builder(InputType.recurrent(5)).addLayer("a", lstm(8), "x");
    }

    static Stream<VertexCase> ofSequences() {
        return Stream.of(
                ofSequences(
                        "last time step and back",
                        behindLstm()
                                .addVertex("last", new LastTimeStepVertex("x"), "a")
                                .addLayer("dense", Networks.dense(6, Activation.TANH), "last")
                                .addVertex("copies", new DuplicateToTimeSeriesVertex("x"), "dense")
                                .addLayer("b", lstm(6), "copies")
                                .addLayer("out", Networks.rnnSoftmax(3), "b")),
                ofSequences(
                        "reverse",
                        behindLstm()
                                .addVertex("vertex", new ReverseTimeSeriesVertex("x"), "a")
                                .addLayer("b", lstm(6), "vertex")
                                .addLayer("out", Networks.rnnSoftmax(3), "b")),
                ofSequences(
                        "attention",
                        behindLstm()
                                .addVertex("attention", Networks.attention(8, 6, 2), "a", "a", "a")
                                .addLayer("b", lstm(6), "attention")
                                .addLayer("out", Networks.rnnSoftmax(3), "b")));
    }

    /**
     * A vertex in a small graph.
     *
     * @param name what is shown
     * @param configuration the graph
     * @param data what it is trained with
     */
    record VertexCase(String name, ComputationGraphConfiguration configuration, MultiDataSet data) {
        void check(AmpConfig config, Comparison.Tolerance tolerance) {
            Comparison.check(Networks.init(configuration), data, config, tolerance);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    @ParameterizedTest
    @MethodSource({"ofVectors", "ofImages", "ofSequences"})
    void runsInHalf(VertexCase vertex) {
        vertex.check(Gradients.config(Precision.HALF), Comparison.Tolerance.HALF);
    }

    /** DL4J's clone(), and graphs that are loaded, have a frozen vertex around it. */
    @Test
    void elementWiseVerticesMayBeFrozen() {
        ComputationGraph graph = new TransferLearning.GraphBuilder(Networks.init(Networks.residual()))
                .setFeatureExtractor("add")
                .build();
        INDArray images = Networks.images(4, 3, 8, 3).getFeatures();
        INDArray expected = graph.outputSingle(images);
        for (ComputationGraph each : List.of(graph, graph.clone())) {
            try (MixedPrecision amp = MixedPrecision.enable(each, Gradients.config(Precision.HALF))) {
                assertEquals(Precision.HALF, amp.plan().row("add").output());
                assertEquals(
                        DataType.HALF,
                        each.feedForward(images, false).get("add").dataType());
                Comparison.assertClose(expected, each.outputSingle(images), 0.01, "output");
                each.fit(Networks.images(4, 3, 8, 3));
                assertEquals(1, amp.stepsTaken());
            }
            assertEquals(
                    DataType.FLOAT, each.feedForward(images, false).get("add").dataType());
        }
    }

    @ParameterizedTest
    @MethodSource({"ofVectors", "ofImages", "ofSequences"})
    void runsInBfloat16(VertexCase vertex) {
        Comparison.assumeComputed(Precision.BFLOAT16);
        vertex.check(Gradients.config(Precision.BFLOAT16), Comparison.Tolerance.COARSE);
    }

    @ParameterizedTest
    @MethodSource({"ofVectors", "ofImages", "ofSequences"})
    void runsAtOptLevelO2(VertexCase vertex) {
        AmpConfig config = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .optLevel(OptLevel.O2)
                .build();
        vertex.check(config, Comparison.Tolerance.HALF);
    }
}
