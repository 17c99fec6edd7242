package org.dl4jamp.policy;

import static org.dl4jamp.precision.Precision.FLOAT;
import static org.dl4jamp.precision.Precision.HALF;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;

class GraphPaintingTest {
    @Test
    void aResidualBlockKeepsItsSkipInHalf() {
        PrecisionPlan plan = Plans.plan(
                Plans.built(residualBlock(Plans.graph("x").addLayer("stem", Plans.conv(null), "x"), "b", "stem")
                        .addLayer("out", Plans.output(null), "b_relu")
                        .setOutputs("out")));

        assertEquals(HALF, plan.row("stem").output());
        assertEquals(HALF, plan.row("b_add").precision());
        assertEquals(HALF, plan.row("b_add").output());
        assertEquals(HALF, plan.row("b_relu").output());
        assertEquals(HALF, plan.row("b_bn2").output());
        assertEquals(FLOAT, plan.row("b_bn2").precision());
        assertEquals("dl4j", plan.row("b_add").engine());
    }

    @Test
    void aChainOfResidualBlocksCastsOnlyAtItsEnds() {
        GraphBuilder builder = Plans.graph("x")
                .addLayer("stem", Plans.conv(null), "x")
                .addLayer("pool", new SubsamplingLayer.Builder(PoolingType.MAX).build(), "stem");
        String last = "pool";
        for (int i = 0; i < 4; i++) {
            residualBlock(builder, "b" + i, last);
            last = "b" + i + "_relu";
        }
        PrecisionPlan plan =
                Plans.plan(Plans.built(builder.addLayer("global", new GlobalPoolingLayer(PoolingType.AVG), last)
                        .addLayer("out", Plans.output(null), "global")
                        .setOutputs("out")));

        plan.rows().stream()
                .filter(row -> !row.name().equals("out") && !row.name().equals("global"))
                .forEach(row -> assertEquals(HALF, row.output(), row.name()));
        assertEquals(FLOAT, plan.row("global").precision());
        assertEquals(FLOAT, plan.row("global").output());
        assertEquals(
                "sums over many values in FP32, takes HALF", plan.row("global").reason());
        assertEquals(FLOAT, plan.row("out").output());
    }

    @Test
    void aSkipFromTheNetworksInputMakesTheMergeFp32AndCastsBeforeIt() {
        PrecisionPlan plan = Plans.plan(Plans.built(Plans.graph("x")
                .addLayer("down", Plans.conv(null), "x")
                .addLayer("up", Plans.conv(null), "down")
                .addVertex("merge", new MergeVertex(), "x", "up")
                .addLayer("last", Plans.conv(null), "merge")
                .addLayer("out", Plans.output(null), "last")
                .setOutputs("out")));

        assertEquals(FLOAT, plan.row("merge").precision());
        assertEquals(
                "follows its input: network inputs are FP32", plan.row("merge").reason());
        assertEquals(HALF, plan.row("up").precision());
        assertEquals(FLOAT, plan.row("up").output());
        assertTrue(
                plan.row("up").reason().endsWith("output in FP32: network inputs are FP32"),
                plan.row("up").reason());
        assertEquals(HALF, plan.row("down").output());
        assertEquals(HALF, plan.row("last").output());
    }

    @Test
    void aUNetsSkipsBetweenLayersStayInHalf() {
        PrecisionPlan plan = Plans.plan(Plans.built(Plans.graph("x")
                .addLayer("enc", Plans.conv(null), "x")
                .addLayer("pool", new SubsamplingLayer.Builder(PoolingType.MAX).build(), "enc")
                .addLayer("mid", Plans.conv(null), "pool")
                .addVertex("merge", new MergeVertex(), "enc", "mid")
                .addLayer("dec", Plans.conv(null), "merge")
                .addLayer("out", Plans.output(null), "dec")
                .setOutputs("out")));

        assertEquals(HALF, plan.row("pool").precision());
        assertEquals(HALF, plan.row("merge").output());
        assertEquals(HALF, plan.row("dec").output());
    }

    @Test
    void oneArrayForALoweredAndAFullLayerIsHalf() {
        PrecisionPlan plan = Plans.plan(Plans.built(Plans.graph("x")
                .addLayer("shared", Plans.dense(null), "x")
                .addLayer("bn", Plans.batchNorm(null), "shared")
                .addLayer("d", Plans.dense(null), "shared")
                .addVertex("merge", new MergeVertex(), "bn", "d")
                .addLayer("out", Plans.output(null), "merge")
                .setOutputs("out")));

        assertEquals(HALF, plan.row("shared").output());
        assertEquals(HALF, plan.row("merge").output());
        assertEquals(HALF, plan.row("bn").output());
    }

    @Test
    void aVertexWithANormForcesFp32OnItsInputsAndItsOutput() {
        PrecisionPlan plan = Plans.plan(Plans.built(Plans.graph("x")
                .addLayer("a", Plans.dense(null), "x")
                .addVertex("norm", new L2NormalizeVertex(), "a")
                .addVertex("scale", new ScaleVertex(2), "norm")
                .addLayer("b", Plans.dense(null), "scale")
                .addLayer("out", Plans.output(null), "b")
                .setOutputs("out")));

        assertEquals(HALF, plan.row("a").precision());
        assertEquals(FLOAT, plan.row("a").output());
        assertEquals(FLOAT, plan.row("norm").output());
        assertEquals(FLOAT, plan.row("scale").precision());
        assertEquals(
                "follows its input: \"norm\" computes in FP32 only",
                plan.row("scale").reason());
        assertEquals(HALF, plan.row("b").output());
    }

    @Test
    void anAttentionVertexIsGivenTheNetworksType() {
        AttentionVertex attention = new AttentionVertex.Builder()
                .nHeads(1)
                .headSize(4)
                .nInQueries(4)
                .nInKeys(4)
                .nInValues(4)
                .nOut(4)
                .projectInput(true)
                .build();
        PrecisionPlan plan = Plans.plan(Plans.built(Plans.graph("x")
                .addLayer("a", Plans.dense(null), "x")
                .addVertex("attention", attention, "a", "a", "a")
                .addLayer("out", Plans.output(null), "attention")
                .setOutputs("out")));

        assertEquals(FLOAT, plan.row("attention").precision());
        assertEquals(FLOAT, plan.row("a").output());
        assertEquals(
                "DL4J computes it in the network's type only",
                plan.row("attention").reason());
    }

    @Test
    void aVertexOfTheUsersIsGivenFp32() {
        PrecisionPlan plan = Plans.plan(Plans.built(Plans.graph("x")
                .addLayer("a", Plans.dense(null), "x")
                .addVertex("own", new LayerKindsTest.OwnLambdaVertex(), "a")
                .addLayer("out", Plans.output(null), "own")
                .setOutputs("out")));

        assertEquals(FLOAT, plan.row("a").output());
        assertEquals("dl4j-amp doesn't know OwnLambdaVertex", plan.row("own").reason());
    }

    @Test
    void indicesForAnEmbeddingAreNeverRounded() {
        PrecisionPlan plan = Plans.plan(Plans.built(Plans.graph("x")
                .addLayer("before", Plans.dense(null), "x")
                .addLayer(
                        "words", new EmbeddingLayer.Builder().nIn(5000).nOut(4).build(), "before")
                .addLayer("after", Plans.dense(null), "words")
                .addLayer("out", Plans.output(null), "after")
                .setOutputs("out")));

        assertEquals(FLOAT, plan.row("before").output());
        assertEquals(HALF, plan.row("words").output());
    }

    @Test
    void whatIsComparedWithAMaskingValueIsNeverRounded() {
        LSTM lstm = new LSTM.Builder().nIn(4).nOut(4).build();
        PrecisionPlan plan = Plans.plan(Plans.built(Plans.graph("x")
                .addLayer("before", new LSTM.Builder().nIn(4).nOut(4).build(), "x")
                .addLayer("masked", new MaskZeroLayer(lstm, 0.1), "before")
                .addLayer("after", new LSTM.Builder().nIn(4).nOut(4).build(), "masked")
                .setOutputs("after")));

        assertEquals(FLOAT, plan.row("before").output());
        assertEquals(HALF, plan.row("masked").output());
    }

    @Test
    void twoOutputsEndInFp32AndWhatTheyShareIsHalf() {
        PrecisionPlan plan = Plans.plan(Plans.built(Plans.graph("x")
                .addLayer("shared", Plans.dense(null), "x")
                .addLayer("left", Plans.output(null), "shared")
                .addLayer("right", Plans.dense(null), "shared")
                .setOutputs("left", "right")));

        assertEquals(HALF, plan.row("shared").output());
        assertEquals(FLOAT, plan.row("left").output());
        assertEquals(HALF, plan.row("right").precision());
        assertEquals(FLOAT, plan.row("right").output());
    }

    @Test
    void aSumThatIsTheNetworksOutputIsFp32AndSoAreItsSummands() {
        PrecisionPlan plan = Plans.plan(Plans.built(Plans.graph("x")
                .addLayer("a", Plans.dense(null), "x")
                .addLayer("b", Plans.dense(null), "a")
                .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "a", "b")
                .setOutputs("sum")));

        assertEquals(FLOAT, plan.row("sum").output());
        assertEquals(FLOAT, plan.row("a").output());
        assertEquals(HALF, plan.row("a").precision());
    }

    @Test
    void aHalfArrayThatIsANetworkOutputToo() {
        PrecisionPlan plan = Plans.plan(Plans.built(Plans.graph("x")
                .addLayer("a", Plans.dense(null), "x")
                .addLayer("b", Plans.dense(null), "a")
                .addLayer("out", Plans.output(null), "b")
                .setOutputs("out", "a")));

        assertEquals(HALF, plan.row("a").precision());
        assertEquals(FLOAT, plan.row("a").output());
        assertEquals(HALF, plan.row("b").output());
    }

    @Test
    void aFrozenLayerIsLoweredLikeTheOneItFreezes() {
        PrecisionPlan plan = Plans.plan(Plans.built(Plans.graph("x")
                .addLayer("frozen", new FrozenLayer(Plans.conv(null)), "x")
                .addLayer("relu", new ActivationLayer(Activation.RELU), "frozen")
                .addLayer("out", Plans.output(null), "relu")
                .setOutputs("out")));

        assertEquals(HALF, plan.row("frozen").precision());
        assertEquals(HALF, plan.row("relu").precision());
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
