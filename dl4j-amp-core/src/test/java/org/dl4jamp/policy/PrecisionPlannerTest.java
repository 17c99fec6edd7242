package org.dl4jamp.policy;

import static org.dl4jamp.precision.Precision.BFLOAT16;
import static org.dl4jamp.precision.Precision.FLOAT;
import static org.dl4jamp.precision.Precision.HALF;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.preprocessor.RnnToFeedForwardPreProcessor;
import org.dl4jamp.config.PrecisionRule;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;

class PrecisionPlannerTest {
    private static final NetworkGraph MLP =
            Plans.chain(Plans.dense("first"), Plans.dense("second"), Plans.output("out"));

    @Test
    void consecutiveProductsHandHalfArraysToEachOtherAndTheLossIsInFp32() {
        PrecisionPlan plan = Plans.plan(MLP);

        assertEquals(HALF, plan.precision());
        assertEquals(row("first", HALF, FLOAT, HALF, "products in FP32, rounded once"), plan.row("first"));
        assertEquals(row("second", HALF, HALF, HALF, "products in FP32, rounded once"), plan.row("second"));
        assertEquals(
                new PrecisionPlan.Row(
                        "out",
                        "OutputLayer",
                        true,
                        LayerKind.FULL,
                        FLOAT,
                        HALF,
                        FLOAT,
                        "test",
                        "loss in FP32, takes HALF"),
                plan.row("out"));
    }

    private static PrecisionPlan planKeepingLoss(NetworkGraph graph, OptLevel level, PrecisionRule... rules) {
        return PrecisionPlanner.plan(graph, BFLOAT16, level, List.of(rules), Plans.Engine.KEEPING_LOSS, null);
    }

    @Test
    void anEngineThatKeepsTheLossInFp32MultipliesInOutputLayers() {
        for (OptLevel level : List.of(OptLevel.O1, OptLevel.O2)) {
            assertEquals(
                    new PrecisionPlan.Row(
                            "out",
                            "OutputLayer",
                            true,
                            LayerKind.LOWER,
                            BFLOAT16,
                            BFLOAT16,
                            FLOAT,
                            "test",
                            "products in FP32, rounded once; output in FP32: network outputs are FP32"),
                    planKeepingLoss(MLP, level).row("out"));
        }
        PrecisionPlan kept = planKeepingLoss(MLP, OptLevel.O1, PrecisionRule.ByName.of(LayerKind.FULL, "out"));
        assertEquals(FLOAT, kept.row("out").precision());
        NetworkGraph loss = Plans.chain(Plans.dense("a"), new LossLayer.Builder().build());
        assertEquals(FLOAT, planKeepingLoss(loss, OptLevel.O1).row("layer1").precision());
    }

    @Test
    void anOutputLayerAloneStaysFull() {
        PrecisionPlan plan =
                planKeepingLoss(MLP, OptLevel.O1, new PrecisionRule.ByClass(LayerKind.FULL, DenseLayer.class));

        assertFalse(plan.anyHalf());
        assertEquals("dl4j", plan.row("second").engine());
        assertEquals(
                "alone among FP32 layers: the casts would cost more than it saves",
                plan.row("out").reason());
    }

    @Test
    void batchNormalizationBetweenConvolutionsComputesInFp32AndKeepsHalfActivations() {
        PrecisionPlan plan = Plans.plan(Plans.chain(
                Plans.conv("c1"),
                Plans.batchNorm("bn"),
                new ActivationLayer(Activation.RELU),
                Plans.conv("c2"),
                Plans.output("out")));

        assertEquals(FLOAT, plan.row("bn").precision());
        assertEquals(HALF, plan.row("bn").output());
        assertEquals("test", plan.row("bn").engine());
        assertEquals(
                "statistics and parameters in FP32, activations kept in HALF",
                plan.row("bn").reason());
        assertEquals(HALF, plan.row("layer2").precision());
        assertEquals("follows its input", plan.row("layer2").reason());
    }

    @Test
    void batchNormalizationOfTheNetworksInputHandsHalfOn() {
        PrecisionPlan plan = Plans.plan(Plans.chain(Plans.batchNorm("bn"), Plans.conv("c"), Plans.output("out")));

        assertEquals(FLOAT, plan.row("bn").precision());
        assertEquals(HALF, plan.row("bn").output());
        assertEquals(
                "statistics and parameters in FP32, returns HALF",
                plan.row("bn").reason());
    }

    @Test
    void whatLiesBetweenTwoFullLayersIsFp32AndUntouched() {
        PrecisionPlan plan = Plans.plan(Plans.chain(
                Plans.batchNorm("a"), new ActivationLayer(Activation.RELU), Plans.batchNorm("b"), Plans.output("out")));

        assertFalse(plan.anyHalf());
        assertEquals(FLOAT, plan.precision());
        assertTrue(plan.rows().stream().allMatch(row -> row.engine().equals("dl4j") && row.output() == FLOAT));
        assertEquals(
                "follows its input: no layer beside it computes in HALF",
                plan.row("layer1").reason());
    }

    @Test
    void aLayerWithSoftmaxAmongTheHiddenOnesStaysFull() {
        PrecisionPlan plan = Plans.plan(Plans.chain(
                Plans.dense("a"),
                new DenseLayer.Builder()
                        .name("attention")
                        .nIn(4)
                        .nOut(4)
                        .activation(Activation.SOFTMAX)
                        .build(),
                Plans.dense("b"),
                Plans.output("out")));

        assertEquals(FLOAT, plan.row("attention").precision());
        assertEquals(
                "softmax, a sum of exponentials, in FP32, activations kept in HALF",
                plan.row("attention").reason());
    }

    @Test
    void bfloat16IsPlannedLikeHalf() {
        PrecisionPlan plan = PrecisionPlanner.plan(MLP, BFLOAT16, OptLevel.O1, List.of(), Plans.Engine.ABLE, null);

        assertEquals(BFLOAT16, plan.precision());
        assertEquals(BFLOAT16, plan.row("first").output());
        assertEquals("loss in FP32, takes BFLOAT16", plan.row("out").reason());
    }

    @Test
    void floatLeavesEveryLayerToDl4jAndSaysWhy() {
        PrecisionPlan plan = PrecisionPlanner.plan(
                MLP,
                FLOAT,
                OptLevel.O1,
                List.of(),
                Plans.Engine.ABLE,
                "no engine computes half precision fast on this CPU");

        assertEquals(
                new PrecisionPlan.Row(
                        "first",
                        "DenseLayer",
                        true,
                        LayerKind.FULL,
                        FLOAT,
                        FLOAT,
                        FLOAT,
                        "dl4j",
                        "no engine computes half precision fast on this CPU"),
                plan.row("first"));
        assertEquals(3, plan.rows().size());
        assertFalse(plan.anyHalf());
    }

    @Test
    void autoHasToBeResolvedFirst() {
        assertThrows(
                IllegalArgumentException.class,
                () -> PrecisionPlanner.plan(MLP, Precision.AUTO, OptLevel.O1, List.of(), Plans.Engine.ABLE, null));
    }

    @Test
    void o0IsFp32Throughout() {
        PrecisionPlan plan = Plans.plan(MLP, OptLevel.O0);

        assertEquals(FLOAT, plan.precision());
        assertTrue(plan.rows().stream()
                .allMatch(row -> row.reason().contains("O0") && row.engine().equals("dl4j")));
    }

    @Test
    void o2LowersEverythingButBatchNormalizationAndLosses() {
        NetworkGraph graph = Plans.chain(
                Plans.conv("c"),
                Plans.batchNorm("bn"),
                new LocalResponseNormalization.Builder().name("lrn").build(),
                new DenseLayer.Builder()
                        .name("softmax")
                        .nIn(4)
                        .nOut(4)
                        .activation(Activation.SOFTMAX)
                        .build(),
                new ActivationLayer.Builder()
                        .name("swish")
                        .activation(Activation.SWISH)
                        .build(),
                Plans.dense("d"),
                Plans.output("out"));
        PrecisionPlan plan = Plans.plan(graph, OptLevel.O2);

        assertEquals(HALF, plan.row("lrn").precision());
        assertEquals(LayerKind.FOLLOW, plan.row("lrn").kind());
        assertEquals(HALF, plan.row("softmax").precision());
        assertEquals(FLOAT, plan.row("bn").precision());
        assertEquals(FLOAT, plan.row("out").precision());
        assertEquals(FLOAT, plan.row("swish").precision(), "its gradient would be NaN");
        assertEquals(FLOAT, Plans.plan(graph).row("lrn").precision());
    }

    @Test
    void globalSumsStayFp32AtEveryLevelAndGlobalAveragesOnlyAtO1() {
        NetworkGraph sum =
                Plans.chain(Plans.conv("c"), globalPooling(PoolingType.SUM), Plans.dense("d"), Plans.output("o"));
        NetworkGraph average =
                Plans.chain(Plans.conv("c"), globalPooling(PoolingType.AVG), Plans.dense("d"), Plans.output("o"));

        assertEquals(FLOAT, Plans.plan(sum, OptLevel.O3).row("global").precision());
        assertEquals(HALF, Plans.plan(average, OptLevel.O2).row("global").precision());
        assertEquals(FLOAT, Plans.plan(average).row("global").precision());
    }

    @Test
    void o3LowersBatchNormalizationAndOutputLayersToo() {
        NetworkGraph graph = Plans.chain(Plans.conv("c"), Plans.batchNorm("bn"), Plans.output("out"));
        PrecisionPlan plan = Plans.plan(graph, OptLevel.O3);

        assertEquals(HALF, plan.row("bn").precision());
        assertEquals(HALF, plan.row("out").precision());
        assertEquals(FLOAT, plan.row("out").output());
    }

    @Test
    void aLossWithoutWeightsIsInFp32AtEveryLevel() {
        NetworkGraph graph = Plans.chain(
                Plans.dense("a"), new LossLayer.Builder().name("loss").build());

        assertEquals(FLOAT, Plans.plan(graph, OptLevel.O3).row("loss").precision());
    }

    @Test
    void whatTheEngineCannotDoStaysFp32WithTheReason() {
        PrecisionPlan plan = PrecisionPlanner.plan(
                Plans.chain(Plans.conv("c1"), Plans.dense("d"), Plans.conv("c2"), Plans.output("out")),
                HALF,
                OptLevel.O1,
                List.of(),
                new Plans.Engine(DenseLayer.class),
                null);

        assertEquals(FLOAT, plan.row("d").precision());
        assertEquals(HALF, plan.row("d").output());
        assertEquals(LayerKind.LOWER, plan.row("d").kind());
        assertEquals(
                "test can't: no kernel for HALF, activations kept in HALF",
                plan.row("d").reason());
    }

    @Test
    void aFollowingLayerThatTheEngineCannotDoDoesNotCutTheHalfRegion() {
        PrecisionPlan plan = PrecisionPlanner.plan(
                Plans.chain(
                        Plans.conv("c1"), new ActivationLayer(Activation.RELU), Plans.conv("c2"), Plans.output("out")),
                HALF,
                OptLevel.O1,
                List.of(),
                new Plans.Engine(ActivationLayer.class),
                null);

        assertEquals(FLOAT, plan.row("layer1").precision());
        assertEquals(HALF, plan.row("layer1").output());
        assertEquals(HALF, plan.row("c1").output());
    }

    @Test
    void anEmbeddingAloneAmongFullLayersIsNotWorthItsCasts() {
        NetworkGraph graph = Plans.chain(embedding(), Plans.batchNorm("bn"), Plans.dense("d"), Plans.output("out"));
        PrecisionPlan plan = Plans.plan(graph);

        assertEquals(FLOAT, plan.row("words").precision());
        assertEquals(FLOAT, plan.row("words").output());
        assertTrue(plan.row("words").reason().startsWith("alone among FP32 layers"));
        assertEquals(HALF, plan.row("d").precision());
    }

    @Test
    void anEmbeddingAloneIsFullWhereverProductsStandInTheNetwork() {
        for (int before = 0; before <= 4; before++) {
            for (int behind = 0; behind <= 4; behind++) {
                List<Layer> layers = new ArrayList<>();
                layers.add(embedding());
                layers.add(Plans.batchNorm("alone"));
                for (int i = 0; i < before; i++) {
                    layers.add(Plans.batchNorm("n" + i));
                }
                for (int i = 0; i < behind; i++) {
                    layers.add(Plans.dense("d" + i));
                }
                layers.add(Plans.output("out"));
                PrecisionPlan plan = Plans.plan(Plans.chain(layers.toArray(Layer[]::new)));
                assertEquals(FLOAT, plan.row("words").precision(), plan::toString);
                assertEquals(behind > 0, plan.anyHalf());
            }
        }
    }

    @Test
    void anEmbeddingThatARuleAskedForIsLoweredEvenAlone() {
        PrecisionPlan plan = Plans.plan(
                Plans.chain(embedding(), Plans.batchNorm("bn"), Plans.dense("d"), Plans.output("out")),
                PrecisionRule.ByName.of(LayerKind.LOWER, "words"));

        assertEquals(HALF, plan.row("words").precision());
        assertEquals(HALF, plan.row("words").output());
    }

    @Test
    void anEmbeddingThatFeedsProductsIsLowered() {
        PrecisionPlan plan = Plans.plan(Plans.chain(embedding(), Plans.dense("d"), Plans.output("out")));

        assertEquals(HALF, plan.row("words").precision());
        assertEquals(HALF, plan.row("words").output());
    }

    @Test
    void anElementWiseLayerLoweredByRuleCountsAsAnIslandOfItsOwn() {
        PrecisionPlan plan = Plans.plan(
                Plans.chain(Plans.batchNorm("a"), prelu(), Plans.batchNorm("b"), Plans.output("out")),
                PrecisionRule.ByName.of(LayerKind.LOWER, "prelu"));

        assertEquals(HALF, plan.row("prelu").precision());
        assertEquals(HALF, plan.row("a").output());
        assertEquals(FLOAT, plan.row("b").output());
    }

    @Test
    void oneDenseLayerBetweenFullOnesIsWorthItsCasts() {
        PrecisionPlan plan = Plans.plan(
                Plans.chain(Plans.batchNorm("a"), Plans.dense("d"), Plans.batchNorm("b"), Plans.output("o")));

        assertEquals(HALF, plan.row("d").precision());
        assertEquals(HALF, plan.row("a").output());
    }

    @Test
    void aPreprocessorOfTheUsersIsGivenFp32() {
        var configuration =
                Plans.configuration(Plans.dense("a"), Plans.dense("b"), Plans.dense("c"), Plans.output("out"));
        configuration.getInputPreProcessors().put(1, new LayerKindsTest.OwnPreProcessor());
        configuration.getInputPreProcessors().put(2, new RnnToFeedForwardPreProcessor());
        PrecisionPlan plan = Plans.plan(NetworkGraph.of(configuration));

        assertEquals(HALF, plan.row("a").precision());
        assertEquals(FLOAT, plan.row("a").output());
        assertTrue(plan.row("a")
                .reason()
                .endsWith("output in FP32: the preprocessor OwnPreProcessor is unknown to dl4j-amp"));
        assertEquals(HALF, plan.row("b").output());
    }

    @Test
    void aLoweredLayerAtTheEndOfTheNetworkHandsFp32Out() {
        PrecisionPlan plan = Plans.plan(Plans.chain(Plans.dense("a"), Plans.dense("b")));

        assertEquals(
                row("b", HALF, HALF, FLOAT, "products in FP32, rounded once; output in FP32: network outputs are FP32"),
                plan.row("b"));
        assertEquals(HALF, plan.row("a").output());
    }

    @Test
    void aFollowingLayerAtTheEndComputesInHalfAndHandsFp32Out() {
        PrecisionPlan plan = Plans.plan(Plans.chain(Plans.dense("a"), new ActivationLayer(Activation.TANH)));

        assertEquals(HALF, plan.row("a").output());
        assertEquals(HALF, plan.row("layer1").precision());
        assertEquals(FLOAT, plan.row("layer1").output());
        assertEquals("test", plan.row("layer1").engine());
    }

    @Test
    void aFollowingLayerAtTheStartStaysInFp32BecauseItsInputIs() {
        PrecisionPlan plan =
                Plans.plan(Plans.chain(new ActivationLayer(Activation.TANH), Plans.dense("a"), Plans.output("out")));

        assertEquals(FLOAT, plan.row("layer0").precision());
        assertEquals("dl4j", plan.row("layer0").engine());
        assertEquals(
                "follows its input: network inputs are FP32", plan.row("layer0").reason());
        assertEquals(HALF, plan.row("a").precision());
    }

    private static EmbeddingLayer embedding() {
        return new EmbeddingLayer.Builder().name("words").nIn(5000).nOut(4).build();
    }

    private static GlobalPoolingLayer globalPooling(PoolingType type) {
        return new GlobalPoolingLayer.Builder(type).name("global").build();
    }

    private static PReLULayer prelu() {
        return new PReLULayer.Builder().name("prelu").nIn(4).nOut(4).build();
    }

    private static PrecisionPlan.Row row(
            String name, Precision precision, Precision input, Precision output, String reason) {
        return new PrecisionPlan.Row(
                name, "DenseLayer", true, LayerKind.LOWER, precision, input, output, "test", reason);
    }
}
