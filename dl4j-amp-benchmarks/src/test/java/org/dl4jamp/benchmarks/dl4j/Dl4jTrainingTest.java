package org.dl4jamp.benchmarks.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.dl4jamp.benchmarks.HalfPrecision;
import org.dl4jamp.benchmarks.blueprint.Loss;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.cases.TinyCases;
import org.dl4jamp.benchmarks.side.Training;
import org.dl4jamp.benchmarks.side.UnavailableException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class Dl4jTrainingTest {
    private static final int STEPS = 4;

    /** FP32 may differ by what small steps make of rounding, BFLOAT16 by its own digits. */
    @ParameterizedTest
    @MethodSource("org.dl4jamp.benchmarks.cases.TinyCases#all")
    void mixedPrecisionFollowsStockDl4j(BenchmarkCase benchmark) {
        Loss loss = BlueprintBuilder.build(benchmark.name(), benchmark.network(), benchmark.batch())
                .blueprint()
                .loss();
        List<Double> stock = losses(Dl4jTraining.stock(benchmark.network(), benchmark.batch(), loss));
        List<Double> fp32 = losses(Dl4jTraining.amp(benchmark.network(), benchmark.batch(), loss, Precision.FLOAT));
        List<Double> half =
                losses(Dl4jTraining.amp(benchmark.network(), benchmark.batch(), loss, HalfPrecision.precision()));
        for (int step = 0; step < STEPS; step++) {
            String where = benchmark + ", step " + step;
            assertEquals(stock.get(step), fp32.get(step), 1e-3 * stock.get(step), where);
            assertEquals(stock.get(step), half.get(step), 0.03 * stock.get(step), where);
        }
    }

    private static List<Double> losses(Training training) {
        try (training) {
            List<Double> losses = new ArrayList<>();
            for (int step = 0; step < STEPS; step++) {
                losses.add(training.step());
            }
            assertTrue(training.activationBytes().orElseThrow() > 0);
            return losses;
        }
    }

    @Test
    void everyProcessBeginsWithTheSameParameters() {
        BenchmarkCase benchmark = TinyCases.mlp(7);
        assertEquals(ParameterChecksum.of(benchmark.network()), ParameterChecksum.of(benchmark.network()));
        assertTrue(ParameterChecksum.of(benchmark.network())
                != ParameterChecksum.of(TinyCases.mlp(8).network()));
    }

    @Test
    void withoutHelpersTheirSideIsUnavailable() {
        String reason = assertThrows(
                        UnavailableException.class,
                        () -> OneDnnHelpers.require(TinyCases.mlp(7).network()))
                .getMessage();
        assertTrue(reason.contains("no") && reason.contains("dl4j-fp32"), reason);
    }
}
