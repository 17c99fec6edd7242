package org.dl4jamp.policy;

import static org.dl4jamp.precision.Precision.FLOAT;
import static org.dl4jamp.precision.Precision.HALF;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.Predicate;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.dl4jamp.config.PrecisionRule;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;

class PrecisionRulesTest {
    private static final NetworkGraph GRAPH =
            Plans.chain(Plans.dense("first"), Plans.batchNorm("bn_1"), Plans.dense("second"), Plans.output("out"));

    @Test
    void aNameKeepsALayerFull() {
        PrecisionPlan plan = Plans.plan(GRAPH, keepFull("sec.*"));

        assertEquals(FLOAT, plan.row("second").precision());
        assertEquals(LayerKind.FULL, plan.row("second").kind());
        assertTrue(plan.row("second").reason().startsWith("kept full by keepFull(\"sec.*\")"));
        assertEquals(HALF, plan.row("first").precision());
    }

    @Test
    void aNameHasToMatchAsAWhole() {
        assertThrows(AmpException.class, () -> Plans.plan(GRAPH, keepFull("sec")));
    }

    @Test
    void aNameBeatsAClassAndAClassBeatsAPredicate() {
        PrecisionRule everything = predicate(LayerKind.FULL, layer -> true);

        assertEquals(
                HALF,
                Plans.plan(GRAPH, lower("first"), keepFull(DenseLayer.class))
                        .row("first")
                        .precision());
        assertEquals(
                HALF,
                Plans.plan(GRAPH, lower(DenseLayer.class), everything)
                        .row("first")
                        .precision());
        assertEquals(FLOAT, Plans.plan(GRAPH, everything).row("first").precision());
    }

    @Test
    void aClassBeatsItsSuperclass() {
        PrecisionPlan plan =
                Plans.plan(GRAPH, lower(DenseLayer.class), keepFull(FeedForwardLayer.class), keepFull(Layer.class));

        assertEquals(HALF, plan.row("first").precision());
        assertEquals(FLOAT, plan.row("bn_1").precision());
        assertTrue(plan.row("bn_1").reason().contains("keepFull(FeedForwardLayer.class)"));
    }

    @Test
    void theLaterOfTwoEqualRulesWins() {
        assertEquals(
                FLOAT,
                Plans.plan(GRAPH, lower("first"), keepFull("fir.*"))
                        .row("first")
                        .precision());
        assertEquals(
                HALF,
                Plans.plan(GRAPH, keepFull("first"), lower("fir.*"))
                        .row("first")
                        .precision());
        assertEquals(
                HALF,
                Plans.plan(GRAPH, keepFull(DenseLayer.class), lower(DenseLayer.class))
                        .row("first")
                        .precision());
    }

    @Test
    void aClassIsAlsoAboutWhatWrappersWrapButLessThanTheWrapper() {
        NetworkGraph graph = Plans.chain(
                new Bidirectional(new LSTM.Builder().nIn(4).nOut(4).build()),
                new FrozenLayer(Plans.dense(null)),
                Plans.output("out"));

        assertEquals(
                FLOAT, Plans.plan(graph, keepFull(LSTM.class)).row("layer0").precision());
        assertEquals(
                FLOAT,
                Plans.plan(graph, keepFull(DenseLayer.class)).row("layer1").precision());
        assertEquals(
                HALF,
                Plans.plan(graph, keepFull(LSTM.class), lower(Bidirectional.class))
                        .row("layer0")
                        .precision());
        assertEquals(
                HALF,
                Plans.plan(graph, lower(Bidirectional.class), keepFull(LSTM.class))
                        .row("layer0")
                        .precision());
    }

    @Test
    void batchNormalizationAndOutputLayersCanBeLowered() {
        PrecisionPlan plan = Plans.plan(GRAPH, lower(BatchNormalization.class), lower(OutputLayer.class));

        assertEquals(HALF, plan.row("bn_1").precision());
        assertEquals(HALF, plan.row("out").precision());
        assertEquals(FLOAT, plan.row("out").output());
        assertTrue(plan.row("out").reason().contains("asked for by lower(OutputLayer.class)"));
    }

    @Test
    void aRuleForWhatTheEngineCannotDoIsExplainedInThePlan() {
        PrecisionPlan plan = PrecisionPlanner.plan(
                GRAPH, HALF, OptLevel.O1, List.of(lower("bn_1")), new Plans.Engine(BatchNormalization.class), null);

        assertEquals(FLOAT, plan.row("bn_1").precision());
        assertEquals(LayerKind.LOWER, plan.row("bn_1").kind());
        assertEquals(
                "asked for by lower(\"bn_1\"), but test can't: no kernel for HALF, activations kept in HALF",
                plan.row("bn_1").reason());
    }

    @Test
    void aRuleThatMatchesNothingIsAnErrorThatListsTheLayers() {
        AmpException e = assertThrows(AmpException.class, () -> Plans.plan(GRAPH, keepFull("bm_.*")));

        assertEquals(
                "the rule keepFull(\"bm_.*\") matches no layer. The network's layers are first (DenseLayer), bn_1"
                        + " (BatchNormalization), "
                        + "second (DenseLayer), out (OutputLayer)",
                e.getMessage());
        assertThrows(AmpException.class, () -> Plans.plan(GRAPH, lower(ConvolutionLayer.class)));
        assertThrows(AmpException.class, () -> Plans.plan(GRAPH, predicate(LayerKind.LOWER, layer -> false)));
    }

    @Test
    void aRuleThatMatchesNothingIsAnErrorEvenWhereNothingIsLowered() {
        assertThrows(AmpException.class, () -> Plans.plan(GRAPH, OptLevel.O0, keepFull("bm_.*")));
        assertThrows(
                AmpException.class,
                () -> PrecisionPlanner.plan(
                        GRAPH, Precision.FLOAT, OptLevel.O1, List.of(keepFull("x")), Plans.Engine.ABLE, null));
    }

    @Test
    void aRuleThatMatchesOnlyAVertexIsToldSo() {
        NetworkGraph graph = Plans.built(Plans.graph("x")
                .addLayer("a", Plans.dense(null), "x")
                .addVertex("plus", new ElementWiseVertex(ElementWiseVertex.Op.Add), "a", "x")
                .addLayer("out", Plans.output(null), "plus")
                .setOutputs("out"));

        AmpException e = assertThrows(AmpException.class, () -> Plans.plan(graph, keepFull("plus")));
        assertTrue(
                e.getMessage().contains("It matches plus (ElementWiseVertex), but rules are for layers"),
                e.getMessage());
    }

    private static PrecisionRule keepFull(String name) {
        return PrecisionRule.ByName.of(LayerKind.FULL, name);
    }

    private static PrecisionRule lower(String name) {
        return PrecisionRule.ByName.of(LayerKind.LOWER, name);
    }

    private static PrecisionRule keepFull(Class<? extends Layer> type) {
        return new PrecisionRule.ByClass(LayerKind.FULL, type);
    }

    private static PrecisionRule lower(Class<? extends Layer> type) {
        return new PrecisionRule.ByClass(LayerKind.LOWER, type);
    }

    private static PrecisionRule predicate(LayerKind kind, Predicate<Layer> predicate) {
        return new PrecisionRule.ByPredicate(kind, predicate);
    }
}
