package org.dl4jamp.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToCnnPreProcessor;
import org.dl4jamp.config.PrecisionRule;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;

/** Plans of an engine that computes FP32, and some layers in one pass with what comes before them. */
class FusionsTest {
    /**
     * An engine that takes activation layers along with what comes before them.
     *
     * @param other a class of layers that it leaves to DL4J
     */
    private record Engine(Class<? extends Layer> other) implements EngineAbility {
        @Override
        public String name() {
            return "test";
        }

        @Override
        public Optional<String> cannot(Layer layer, Precision precision) {
            return layer.getClass() == other ? Optional.of("no kernel for " + precision) : Optional.empty();
        }

        @Override
        public boolean computesFloat() {
            return true;
        }

        @Override
        public boolean computes(GraphVertex vertex, Precision precision) {
            return vertex instanceof ElementWiseVertex;
        }

        @Override
        public boolean fuses(NetworkGraph.Node first, Layer then) {
            return then instanceof ActivationLayer;
        }

        @Override
        public boolean sums(Layer layer) {
            return true;
        }

        @Override
        public boolean keepsLossInFloat(Layer output, Precision precision) {
            return true;
        }

        @Override
        public String how(Layer layer, Precision precision) {
            return "in " + precision;
        }
    }

    private static final Engine ABLE = new Engine(null);

    private static PrecisionPlan plan(NetworkGraph graph, Precision precision, EngineAbility engine) {
        return PrecisionPlanner.fused(withoutFusions(graph, precision, engine), graph, engine);
    }

    private static PrecisionPlan withoutFusions(NetworkGraph graph, Precision precision, EngineAbility engine) {
        return PrecisionPlanner.plan(graph, precision, OptLevel.O1, List.of(), engine, "because");
    }

    private static Layer relu(String name) {
        return new ActivationLayer.Builder()
                .name(name)
                .activation(Activation.RELU)
                .build();
    }

    @Test
    void aLayerIsComputedWithTheOneBeforeItAndBothRowsSaySo() {
        PrecisionPlan plan =
                plan(Plans.chain(Plans.batchNorm("n"), relu("r"), Plans.output("out")), Precision.FLOAT, ABLE);

        PrecisionPlan.Fusion fusion = new PrecisionPlan.Fusion("n", "r");
        assertEquals(List.of(fusion), plan.fusions());
        assertEquals(Optional.of(fusion), plan.fusion("n"));
        assertEquals(Optional.of(fusion), plan.fusion("r"));
        assertEquals(Optional.empty(), plan.fusion("out"));
        assertEquals(
                "in FLOAT; in training in one pass with \"r\"", plan.row("n").reason());
        assertEquals("in FLOAT; in training computed by \"n\"", plan.row("r").reason());
        assertEquals("in FLOAT", plan.row("out").reason());
        assertEquals("because", plan.note());
        assertFalse(plan.anyHalf());
    }

    @Test
    void aVertexIsTheFirstOneAlso() {
        NetworkGraph graph = Plans.built(Plans.graph("x")
                .addLayer("a", Plans.dense(null), "x")
                .addLayer("b", Plans.dense(null), "x")
                .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "a", "b")
                .addLayer("r", relu(null), "add")
                .addLayer("out", Plans.output(null), "r")
                .setOutputs("out"));
        for (Precision precision : List.of(Precision.FLOAT, Precision.HALF)) {
            assertEquals(
                    List.of(new PrecisionPlan.Fusion("add", "r")),
                    plan(graph, precision, ABLE).fusions());
        }
    }

    @Test
    void whatSomebodyElseReadsOrAnotherEngineComputesIsNotFused() {
        NetworkGraph chain = Plans.chain(Plans.batchNorm("n"), relu("r"), Plans.output("out"));
        assertEquals(
                List.of(),
                plan(chain, Precision.FLOAT, new Engine(BatchNormalization.class))
                        .fusions());
        assertEquals(
                List.of(),
                plan(chain, Precision.FLOAT, new Engine(ActivationLayer.class)).fusions());
        NetworkGraph first = Plans.chain(relu("r"), Plans.output("out"));
        assertEquals(List.of(), plan(first, Precision.FLOAT, ABLE).fusions());
        NetworkGraph twice = Plans.built(Plans.graph("x")
                .addLayer("n", Plans.batchNorm(null), "x")
                .addLayer("r", relu(null), "n")
                .addLayer("out", Plans.output(null), "r")
                .addLayer("other", Plans.output(null), "n")
                .setOutputs("out", "other"));
        assertEquals(List.of(), plan(twice, Precision.FLOAT, ABLE).fusions());
        NetworkGraph output = Plans.built(Plans.graph("x")
                .addLayer("n", Plans.batchNorm(null), "x")
                .addLayer("r", relu(null), "n")
                .addLayer("out", Plans.output(null), "r")
                .setOutputs("out", "n"));
        assertEquals(List.of(), plan(output, Precision.FLOAT, ABLE).fusions());
        NetworkGraph reshaped = Plans.built(Plans.graph("x")
                .addLayer("n", Plans.batchNorm(null), "x")
                .addLayer("r", relu(null), new FeedForwardToCnnPreProcessor(1, 1, 4), "n")
                .addLayer("out", Plans.output(null), "r")
                .setOutputs("out"));
        assertEquals(List.of(), plan(reshaped, Precision.FLOAT, ABLE).fusions());
        NetworkGraph scaled = Plans.built(Plans.graph("x")
                .addVertex("scale", new ScaleVertex(2), "x")
                .addLayer("r", relu(null), "scale")
                .addLayer("out", Plans.output(null), "r")
                .setOutputs("out"));
        assertEquals(List.of(), plan(scaled, Precision.FLOAT, ABLE).fusions());
    }

    @Test
    void anEngineThatComputesFp32TakesAllThatItCanAndSaysWhatItCant() {
        NetworkGraph graph = Plans.built(Plans.graph("x")
                .addLayer("a", Plans.dense(null), "x")
                .addLayer("b", Plans.dense(null), "x")
                .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "a", "b")
                .addVertex("scale", new ScaleVertex(2), "add")
                .addLayer("out", Plans.output(null), "scale")
                .setOutputs("out"));
        PrecisionPlan plan = plan(graph, Precision.FLOAT, new Engine(OutputLayer.class));

        assertEquals(Precision.FLOAT, plan.precision());
        assertEquals("because", plan.note());
        assertEquals(
                List.of("a", "b", "add", "scale", "out"),
                plan.rows().stream().map(PrecisionPlan.Row::name).toList());
        assertEquals("test: in FLOAT", engineAndReason(plan, "a"));
        assertEquals("test: FP32", engineAndReason(plan, "add"));
        assertEquals("dl4j: because", engineAndReason(plan, "scale"));
        assertEquals("dl4j: test can't: no kernel for FLOAT", engineAndReason(plan, "out"));
    }

    private static String engineAndReason(PrecisionPlan plan, String name) {
        return plan.row(name).engine() + ": " + plan.row(name).reason();
    }

    @Test
    void besideHalfLayersItTakesWhatWouldBeLeftToDl4j() {
        NetworkGraph graph = Plans.built(Plans.graph("x")
                .addLayer("n", Plans.batchNorm(null), "x")
                .addVertex("twice", new ElementWiseVertex(ElementWiseVertex.Op.Add), "n", "n")
                .addVertex("scale", new ScaleVertex(2), "twice")
                .addLayer("m", Plans.batchNorm(null), "scale")
                .addLayer("a", Plans.dense(null), "x")
                .addLayer("b", Plans.dense(null), "a")
                .addLayer("out", Plans.output(null), "b")
                .addLayer("other", Plans.output(null), "m")
                .setOutputs("out", "other"));
        PrecisionRule kept = new PrecisionRule.ByPredicate(LayerKind.FULL, layer -> layer instanceof OutputLayer);
        PrecisionPlan plan = PrecisionPlanner.plan(
                graph, Precision.HALF, OptLevel.O1, List.of(kept), new Engine(BatchNormalization.class), null);

        assertTrue(plan.anyHalf());
        assertEquals(Precision.HALF, plan.row("a").precision());
        assertEquals("dl4j", plan.row("n").engine());
        assertEquals("test", plan.row("twice").engine());
        assertEquals(Precision.FLOAT, plan.row("twice").precision());
        assertEquals("dl4j", plan.row("scale").engine());
        assertEquals("test: kept full by keepFull(predicate); in FLOAT", engineAndReason(plan, "other"));
        assertEquals("test: kept full by keepFull(predicate), takes HALF", engineAndReason(plan, "out"));
        PrecisionPlan without =
                PrecisionPlanner.plan(graph, Precision.HALF, OptLevel.O1, List.of(kept), Plans.Engine.ABLE, null);
        assertEquals("dl4j", without.row("other").engine());
    }

    @Test
    void inferenceHasThePlanOfTheSameEngineWithoutFusions() {
        NetworkGraph graph = Plans.chain(Plans.batchNorm("n"), relu("r"), Plans.output("out"));
        for (Precision precision : List.of(Precision.FLOAT, Precision.HALF)) {
            PrecisionPlan expected = plan(graph, precision, ABLE);
            PrecisionPlan actual = withoutFusions(graph, precision, ABLE);
            assertEquals(List.of(), actual.fusions());
            for (int i = 0; i < expected.rows().size(); i++) {
                assertEquals(
                        expected.rows().get(i).withReason(""),
                        actual.rows().get(i).withReason(""));
            }
        }
    }

    @Test
    void anEngineSaysNothingOfItselfThatItWasntAskedToOverride() {
        EngineAbility plain = new EngineAbility() {
            @Override
            public String name() {
                return "plain";
            }

            @Override
            public Optional<String> cannot(Layer layer, Precision precision) {
                return Optional.empty();
            }

            @Override
            public String how(Layer layer, Precision precision) {
                return "";
            }
        };
        assertFalse(plain.computesFloat());
        assertFalse(plain.computes(new ScaleVertex(2), Precision.FLOAT));
        assertFalse(plain.fuses(null, null));
        assertFalse(plain.sums(null));
        assertFalse(plain.keepsLossInFloat(null, Precision.HALF));
    }
}
