package org.dl4jamp;

import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What holds for every layer of a test's methods {@code all} and {@code inBfloat16}. */
abstract class LayerCases {
    @ParameterizedTest
    @MethodSource("all")
    void runsByDefaultInHalf(LayerCase layer) {
        layer.runsByDefault(Precision.HALF);
    }

    @ParameterizedTest
    @MethodSource("inBfloat16")
    void runsByDefaultInBfloat16(LayerCase layer) {
        Comparison.assumeComputed(Precision.BFLOAT16);
        layer.runsByDefault(Precision.BFLOAT16);
    }

    @ParameterizedTest
    @MethodSource("all")
    void runsWhenForced(LayerCase layer) {
        layer.runsWhenForced();
    }

    @ParameterizedTest
    @MethodSource("all")
    void runsInAGraph(LayerCase layer) {
        layer.runsInAGraph();
    }
}
