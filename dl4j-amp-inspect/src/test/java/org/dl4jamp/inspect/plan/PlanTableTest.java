package org.dl4jamp.inspect.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.Stream;
import org.dl4jamp.inspect.plan.NetworkPlan.Cast;
import org.dl4jamp.inspect.plan.NetworkPlan.Edge;
import org.dl4jamp.inspect.plan.NetworkPlan.Input;
import org.dl4jamp.inspect.plan.NetworkPlan.Layer;
import org.dl4jamp.inspect.plan.NetworkPlan.Totals;
import org.dl4jamp.policy.PrecisionPlan.Fusion;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;

/** The text has every layer, cast and fusion, and says what isn't known. */
class PlanTableTest {
    private static final List<String> LINES =
            PlanTable.of(plan(), "model.zip").lines().toList();

    @Test
    void eachLayerHasALine() {
        assertTrue(
                LINES.contains(
                        "conv   Conv        4x8x8        1.23 k   1.50 M  HALF         HALF          1.02 kB       512 B  nd4j    fast"),
                String.join("\n", LINES));
    }

    @Test
    void whatIsNotKnownIsCalledUnknown() {
        assertTrue(line("own").matches("own +Own +unknown +- +unknown +FLOAT +FLOAT +unknown +unknown +dl4j +users"));
        assertTrue(LINES.contains("FLOP of 1 of the layers are unknown and in no sum; bytes of 1 are, too"));
    }

    @Test
    void castsAndFusionsAreNamed() {
        assertTrue(LINES.contains("Casts between layers: 2"));
        assertTrue(LINES.contains("  FLOAT to HALF: \"in\" -> \"conv\""));
        assertTrue(LINES.contains("  HALF to FLOAT: \"relu\" -> \"own\""));
        assertTrue(LINES.contains("  Conv with Activation: 1"));
    }

    @Test
    void theSavingIsThatOfTheKnownLayers() {
        assertTrue(LINES.contains("Activations in training: 2.05 kB in FP32, 1.02 kB in this plan, 50.0 % less"));
        assertTrue(LINES.contains("Forward pass: 1.50 MFLOP, 100.0 % of them in HALF"));
    }

    @Test
    void amountsHaveThreeDigitsAndAPrefix() {
        assertEquals("0 B", Amounts.of(0L, "B"));
        assertEquals("999 B", Amounts.of(999L, "B"));
        assertEquals("1.00 kB", Amounts.of(1000L, "B"));
        assertEquals("1.00 MB", Amounts.of(999_999L, "B"));
        assertEquals("25.6 M", Amounts.of(25_636_712L, ""));
        assertEquals("9.22 EFLOP", Amounts.of(Long.MAX_VALUE, "FLOP"));
    }

    private static String line(String layer) {
        return LINES.stream()
                .filter(line -> line.startsWith(layer + " "))
                .findFirst()
                .orElseThrow();
    }

    private static NetworkPlan plan() {
        Precision half = Precision.HALF;
        Precision full = Precision.FLOAT;
        List<Layer> layers = List.of(
                new Layer("conv", "Conv", true, "4x8x8", 1234, 1_500_000L, half, half, 1024L, 512L, "nd4j", "fast"),
                new Layer("relu", "Activation", true, "4x8x8", 0, 0L, half, half, 1024L, 512L, "nd4j", "follows"),
                new Layer("own", "Own", true, null, 0, null, full, full, null, null, "dl4j", "users"));
        List<Edge> edges = Stream.of(
                        new Edge("in", "conv", new Cast(full, half)),
                        new Edge("conv", "relu", null),
                        new Edge("relu", "own", new Cast(half, full)))
                .toList();
        return new NetworkPlan(
                "MultiLayerNetwork",
                1,
                null,
                half,
                "nd4j",
                "asked",
                List.of(new Input("in", "3x8x8")),
                layers,
                edges,
                List.of(new Fusion("conv", "relu")),
                Totals.of(layers, edges));
    }
}
