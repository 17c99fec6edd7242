package org.dl4jamp.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.L2NormalizeVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;

class GraphPaintingTest {
    /** Claims, graphs, and what each layer or vertex computes in and returns: {@code name computes>returns}. */
    static Stream<Arguments> graphs() {
        return Stream.of(
                Arguments.of(
                        "A residual block keeps its skip in half",
                        residualBlock(Plans.graph("x").addLayer("stem", Plans.conv(null), "x"), "b", "stem")
                                .addLayer("out", Plans.output(null), "b_relu")
                                .setOutputs("out"),
                        "stem HALF>HALF, b_conv1 HALF>HALF, b_bn1 FLOAT>HALF, b_relu1 HALF>HALF, b_conv2 HALF>HALF,"
                                + " b_bn2 FLOAT>HALF, b_add HALF>HALF, b_relu HALF>HALF, out FLOAT>FLOAT"),
                Arguments.of(
                        "A skip from the network's input makes the merge FP32, and casts before it",
                        Plans.graph("x")
                                .addLayer("down", Plans.conv(null), "x")
                                .addLayer("up", Plans.conv(null), "down")
                                .addVertex("merge", new MergeVertex(), "x", "up")
                                .addLayer("last", Plans.conv(null), "merge")
                                .addLayer("out", Plans.output(null), "last")
                                .setOutputs("out"),
                        "down HALF>HALF, up HALF>FLOAT, merge FLOAT>FLOAT, last HALF>HALF, out FLOAT>FLOAT"),
                Arguments.of(
                        "A U-Net's skips between layers stay in half",
                        Plans.graph("x")
                                .addLayer("enc", Plans.conv(null), "x")
                                .addLayer("pool", maxPooling(), "enc")
                                .addLayer("mid", Plans.conv(null), "pool")
                                .addVertex("merge", new MergeVertex(), "enc", "mid")
                                .addLayer("dec", Plans.conv(null), "merge")
                                .addLayer("out", Plans.output(null), "dec")
                                .setOutputs("out"),
                        "enc HALF>HALF, pool HALF>HALF, mid HALF>HALF, merge HALF>HALF, dec HALF>HALF, out FLOAT>FLOAT"),
                Arguments.of(
                        "One array for a lowered and a full layer is half",
                        Plans.graph("x")
                                .addLayer("shared", Plans.dense(null), "x")
                                .addLayer("bn", Plans.batchNorm(null), "shared")
                                .addLayer("d", Plans.dense(null), "shared")
                                .addVertex("merge", new MergeVertex(), "bn", "d")
                                .addLayer("out", Plans.output(null), "merge")
                                .setOutputs("out"),
                        "shared HALF>HALF, bn FLOAT>HALF, d HALF>HALF, merge HALF>HALF, out FLOAT>FLOAT"),
                Arguments.of(
                        "A vertex with a norm forces FP32 on its inputs and its output",
                        Plans.graph("x")
                                .addLayer("a", Plans.dense(null), "x")
                                .addVertex("norm", new L2NormalizeVertex(), "a")
                                .addVertex("scale", new ScaleVertex(2), "norm")
                                .addLayer("b", Plans.dense(null), "scale")
                                .addLayer("out", Plans.output(null), "b")
                                .setOutputs("out"),
                        "a HALF>FLOAT, norm FLOAT>FLOAT, scale FLOAT>FLOAT, b HALF>HALF, out FLOAT>FLOAT"),
                Arguments.of(
                        "An attention vertex is given the network's type",
                        Plans.graph("x")
                                .addLayer("a", Plans.dense(null), "x")
                                .addVertex("attention", attention(), "a", "a", "a")
                                .addLayer("out", Plans.output(null), "attention")
                                .setOutputs("out"),
                        "a HALF>FLOAT, attention FLOAT>FLOAT, out FLOAT>FLOAT"),
                Arguments.of(
                        "A vertex of the user's is given FP32",
                        Plans.graph("x")
                                .addLayer("a", Plans.dense(null), "x")
                                .addVertex("own", new LayerKindsTest.OwnLambdaVertex(), "a")
                                .addLayer("out", Plans.output(null), "own")
                                .setOutputs("out"),
                        "a HALF>FLOAT, own FLOAT>FLOAT, out FLOAT>FLOAT"),
                Arguments.of(
                        "Indices for an embedding are never rounded",
                        Plans.graph("x")
                                .addLayer("before", Plans.dense(null), "x")
                                .addLayer("words", embedding(), "before")
                                .addLayer("after", Plans.dense(null), "words")
                                .addLayer("out", Plans.output(null), "after")
                                .setOutputs("out"),
                        "before HALF>FLOAT, words HALF>HALF, after HALF>HALF, out FLOAT>FLOAT"),
                Arguments.of(
                        "What is compared with a masking value is never rounded",
                        Plans.graph("x")
                                .addLayer("before", lstm(), "x")
                                .addLayer("masked", new MaskZeroLayer(lstm(), 0.1), "before")
                                .addLayer("after", lstm(), "masked")
                                .setOutputs("after"),
                        "before HALF>FLOAT, masked HALF>HALF, after HALF>FLOAT"),
                Arguments.of(
                        "Two outputs end in FP32, and what they share is half",
                        Plans.graph("x")
                                .addLayer("shared", Plans.dense(null), "x")
                                .addLayer("left", Plans.output(null), "shared")
                                .addLayer("right", Plans.dense(null), "shared")
                                .setOutputs("left", "right"),
                        "shared HALF>HALF, left FLOAT>FLOAT, right HALF>FLOAT"),
                Arguments.of(
                        "A sum that is the network's output is FP32, and so are its summands",
                        Plans.graph("x")
                                .addLayer("a", Plans.dense(null), "x")
                                .addLayer("b", Plans.dense(null), "a")
                                .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "a", "b")
                                .setOutputs("sum"),
                        "a HALF>FLOAT, b HALF>FLOAT, sum FLOAT>FLOAT"),
                Arguments.of(
                        "An array that is a network output, too, is FP32",
                        Plans.graph("x")
                                .addLayer("a", Plans.dense(null), "x")
                                .addLayer("b", Plans.dense(null), "a")
                                .addLayer("out", Plans.output(null), "b")
                                .setOutputs("out", "a"),
                        "a HALF>FLOAT, b HALF>HALF, out FLOAT>FLOAT"),
                Arguments.of(
                        "A frozen layer is lowered like the one that it freezes",
                        Plans.graph("x")
                                .addLayer("frozen", new FrozenLayer(Plans.conv(null)), "x")
                                .addLayer("relu", new ActivationLayer(Activation.RELU), "frozen")
                                .addLayer("out", Plans.output(null), "relu")
                                .setOutputs("out"),
                        "frozen HALF>HALF, relu HALF>HALF, out FLOAT>FLOAT"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("graphs")
    void arraysArePainted(String claim, GraphBuilder graph, String painted) {
        PrecisionPlan plan = Plans.plan(Plans.built(graph));
        String rows = plan.rows().stream()
                .map(row -> row.name() + " " + row.precision() + ">" + row.output())
                .collect(Collectors.joining(", "));
        assertEquals(painted, rows, plan::toString);
    }

    /** Graphs up to a layer or vertex "row", and its reason. */
    static Stream<Arguments> reasons() {
        return Stream.of(
                Arguments.of(
                        Plans.graph("x")
                                .addLayer("a", Plans.dense(null), "x")
                                .addVertex("norm", new L2NormalizeVertex(), "a")
                                .addVertex("row", new ScaleVertex(2), "norm"),
                        "follows its input: \"norm\" computes in FP32 only"),
                Arguments.of(
                        Plans.graph("x")
                                .addLayer("a", Plans.dense(null), "x")
                                .addVertex("row", attention(), "a", "a", "a"),
                        "DL4J computes it in the network's type only"),
                Arguments.of(
                        Plans.graph("x")
                                .addLayer("a", Plans.dense(null), "x")
                                .addVertex("row", new LayerKindsTest.OwnLambdaVertex(), "a"),
                        "OwnLambdaVertex is unknown to dl4j-amp"),
                Arguments.of(
                        Plans.graph("x")
                                .addLayer("a", Plans.conv(null), "x")
                                .addVertex("row", new MergeVertex(), "x", "a"),
                        "follows its input: network inputs are FP32"),
                Arguments.of(
                        Plans.graph("x")
                                .addLayer("a", Plans.conv(null), "x")
                                .addLayer("row", new GlobalPoolingLayer(PoolingType.AVG), "a"),
                        "sums over many values in FP32, takes HALF"));
    }

    @ParameterizedTest(name = "{1}")
    @MethodSource("reasons")
    void aRowSaysWhyItIsFp32(GraphBuilder graph, String reason) {
        PrecisionPlan plan = Plans.plan(
                Plans.built(graph.addLayer("out", Plans.output(null), "row").setOutputs("out")));
        assertEquals(reason, plan.row("row").reason(), plan::toString);
    }

    @Test
    void aChainOfResidualBlocksCastsOnlyAtItsEnds() {
        GraphBuilder builder =
                Plans.graph("x").addLayer("stem", Plans.conv(null), "x").addLayer("pool", maxPooling(), "stem");
        String last = "pool";
        for (int i = 0; i < 4; i++) {
            residualBlock(builder, "b" + i, last);
            last = "b" + i + "_relu";
        }
        PrecisionPlan plan =
                Plans.plan(Plans.built(builder.addLayer("global", new GlobalPoolingLayer(PoolingType.AVG), last)
                        .addLayer("out", Plans.output(null), "global")
                        .setOutputs("out")));
        assertEquals(
                List.of("global", "out"),
                plan.rows().stream()
                        .filter(row -> !row.output().isHalf())
                        .map(PrecisionPlan.Row::name)
                        .toList());
    }

    private static Layer maxPooling() {
        return new SubsamplingLayer.Builder(PoolingType.MAX).build();
    }

    private static Layer embedding() {
        return new EmbeddingLayer.Builder().nIn(5000).nOut(4).build();
    }

    private static LSTM lstm() {
        return new LSTM.Builder().nIn(4).nOut(4).build();
    }

    private static AttentionVertex attention() {
        return new AttentionVertex.Builder()
                .nHeads(1)
                .headSize(4)
                .nInQueries(4)
                .nInKeys(4)
                .nInValues(4)
                .nOut(4)
                .projectInput(true)
                .build();
    }

    private static GraphBuilder residualBlock(GraphBuilder builder, String name, String input) {
        return builder.addLayer(name + "_conv1", Plans.conv(null), input)
                .addLayer(name + "_bn1", Plans.batchNorm(null), name + "_conv1")
                .addLayer(name + "_relu1", new ActivationLayer(Activation.RELU), name + "_bn1")
                .addLayer(name + "_conv2", Plans.conv(null), name + "_relu1")
                .addLayer(name + "_bn2", Plans.batchNorm(null), name + "_conv2")
                .addVertex(name + "_add", new ElementWiseVertex(ElementWiseVertex.Op.Add), name + "_bn2", input)
                .addLayer(name + "_relu", new ActivationLayer(Activation.RELU), name + "_add");
    }
}
