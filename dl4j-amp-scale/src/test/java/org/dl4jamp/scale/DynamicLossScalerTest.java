package org.dl4jamp.scale;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import java.util.function.Consumer;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DynamicLossScalerTest {
    @Test
    void defaultsArePyTorchs() {
        DynamicLossScaler scaler = DynamicLossScaler.builder().build();
        assertEquals(65536.0, scaler.scale());
        assertEquals(65536.0, scaler.initialScale());
        assertEquals(2.0, scaler.growthFactor());
        assertEquals(0.5, scaler.backoffFactor());
        assertEquals(2000, scaler.growthInterval());
        assertEquals(Math.pow(2, -14), scaler.minScale());
        assertEquals(Math.pow(2, 24), scaler.maxScale());
        assertEquals(1, scaler.hysteresis());
    }

    @Test
    void overflowHalvesAndTheGrowthIntervalDoubles() {
        DynamicLossScaler scaler =
                DynamicLossScaler.builder().initialScale(1024).growthInterval(3).build();
        assertScales(scaler, "o", 512);
        assertScales(scaler, "...", 512, 512, 1024);
        assertScales(scaler, "..o", 1024, 1024, 512);
        assertScales(scaler, "...", 512, 512, 1024);
    }

    @Test
    void theScaleIsSinglePrecisionAndTheFactorsAreDouble() {
        DynamicLossScaler scaler = DynamicLossScaler.builder()
                .initialScale(0.1)
                .growthFactor(1.7)
                .backoffFactor(0.3)
                .growthInterval(1)
                .build();
        assertEquals((double) 0.1f, scaler.scale());
        scaler.update(true);
        assertEquals((float) (0.1f * 0.3), (float) scaler.scale());
        scaler.update(false);
        assertEquals((float) ((float) (0.1f * 0.3) * 1.7), (float) scaler.scale());
    }

    @Test
    void growthThatWouldPassTheMaximumDoesNotHappen() {
        DynamicLossScaler scaler = DynamicLossScaler.builder()
                .initialScale(8)
                .maxScale(20)
                .growthInterval(1)
                .build();
        assertScales(scaler, "...", 16, 16, 16);
    }

    @Test
    void growthThatWouldOverflowSinglePrecisionDoesNotHappen() {
        DynamicLossScaler scaler = DynamicLossScaler.builder()
                .initialScale(3e38)
                .maxScale(Float.MAX_VALUE)
                .growthFactor(1e300)
                .growthInterval(1)
                .build();
        assertScales(scaler, "..", 3e38f, 3e38f);
    }

    @Test
    void aBackoffBelowTheMinimumStaysAtTheMinimum() {
        DynamicLossScaler scaler =
                DynamicLossScaler.builder().initialScale(4).minScale(1.5).build();
        assertScales(scaler, "ooo", 2, 1.5, 1.5);
    }

    @Test
    void hysteresisToleratesOverflowsUntilAGrowthIntervalWithoutAny() {
        DynamicLossScaler scaler = DynamicLossScaler.builder()
                .initialScale(64)
                .growthInterval(2)
                .hysteresis(3)
                .build();
        assertScales(scaler, "o.o.o", 64, 64, 64, 64, 32);
        assertScales(scaler, "o", 16);
        assertScales(scaler, "..", 16, 32);
        assertScales(scaler, "ooo", 32, 32, 16);
    }

    @Test
    void aRestoredScalerGoesOnAsIfNothingHadHappened() {
        Random random = new Random(7);
        DynamicLossScaler scaler = DynamicLossScaler.builder()
                .growthInterval(4)
                .hysteresis(2)
                .growthFactor(1.3)
                .build();
        for (int i = 0; i < 200; i++) {
            DynamicLossScaler restored = DynamicLossScaler.builder()
                    .growthInterval(4)
                    .hysteresis(2)
                    .growthFactor(1.3)
                    .build();
            restored.restore(scaler.state());
            LossScaler copy = scaler.copy();
            boolean overflow = random.nextInt(4) == 0;
            scaler.update(overflow);
            assertEquals(scaler.state(), updated(restored, overflow));
            assertEquals(scaler.state(), updated(copy, overflow));
        }
    }

    @Test
    void aCopyKnowsNothingOfItsOriginal() {
        DynamicLossScaler scaler = DynamicLossScaler.builder().build();
        LossScaler copy = scaler.copy();
        copy.update(true);
        assertEquals(32768.0, copy.scale());
        assertEquals(65536.0, scaler.scale());
        assertEquals(scaler.toString(), copy.toString());
    }

    @Test
    void printsTheCallThatMakesIt() {
        assertEquals(
                "DynamicLossScaler.builder().initialScale(65536.0).growthFactor(2.0).backoffFactor(0.5).growthInterval(2000)"
                        + ".minScale(6.1035156E-5).maxScale(1.6777216E7).hysteresis(1).build()",
                DynamicLossScaler.builder().build().toString());
        assertEquals(
                Math.pow(2, -14),
                DynamicLossScaler.builder().minScale(6.1035156E-5).build().minScale());
    }

    @Test
    void followsAnIndependentFormulationOverRandomSequencesAndNeverLeavesItsRange() {
        Random random = new Random(42);
        for (int run = 0; run < 300; run++) {
            double min = Math.pow(2, -random.nextInt(30));
            double max = min * Math.pow(2, random.nextInt(40));
            double initial = min * Math.pow(max / min, random.nextDouble());
            double growth = 1 + 3 * random.nextDouble() + 1e-9;
            double backoff = 0.01 + 0.98 * random.nextDouble();
            int interval = 1 + random.nextInt(6);
            int hysteresis = 1 + random.nextInt(3);
            DynamicLossScaler scaler = DynamicLossScaler.builder()
                    .initialScale(initial)
                    .growthFactor(growth)
                    .backoffFactor(backoff)
                    .growthInterval(interval)
                    .minScale(min)
                    .maxScale(max)
                    .hysteresis(hysteresis)
                    .build();
            float expected = (float) initial;
            int sinceOverflowOrGrowth = 0;
            int overflowsSinceGrowth = 0;
            double overflowProbability = random.nextDouble();
            for (int step = 0; step < 300; step++) {
                boolean overflow = random.nextDouble() < overflowProbability;
                scaler.update(overflow);
                if (overflow) {
                    sinceOverflowOrGrowth = 0;
                    overflowsSinceGrowth++;
                    if (overflowsSinceGrowth >= hysteresis) {
                        double product = expected * backoff;
                        expected = product < min ? (float) min : (float) product;
                    }
                } else {
                    sinceOverflowOrGrowth++;
                    if (sinceOverflowOrGrowth % interval == 0) {
                        overflowsSinceGrowth = 0;
                        float product = (float) (expected * growth);
                        expected = product > (float) max ? expected : product;
                    }
                }
                assertEquals(expected, (float) scaler.scale());
                assertTrue(scaler.scale() >= scaler.minScale() && scaler.scale() <= scaler.maxScale());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY, 1e39, 1e-39, Double.MIN_VALUE})
    void scalesHaveToBePositiveFiniteFloats(double value) {
        assertRejected("initialScale(" + value + ")", builder -> builder.initialScale(value));
        assertRejected("minScale(" + value + ")", builder -> builder.minScale(value));
        assertRejected("maxScale(" + value + ")", builder -> builder.maxScale(value));
    }

    @ParameterizedTest
    @ValueSource(doubles = {1, 0.5, 0, -2, Double.NaN, Double.POSITIVE_INFINITY})
    void theGrowthFactorHasToBeAboveOneAndFinite(double value) {
        assertRejected("growthFactor(" + value + ")", builder -> builder.growthFactor(value));
    }

    @ParameterizedTest
    @ValueSource(doubles = {1, 0, -0.5, 2, Double.NaN})
    void theBackoffFactorHasToLieBetweenZeroAndOne(double value) {
        assertRejected("backoffFactor(" + value + ")", builder -> builder.backoffFactor(value));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, Integer.MIN_VALUE})
    void countsHaveToBeAtLeastOne(int value) {
        assertRejected("growthInterval(" + value + ")", builder -> builder.growthInterval(value));
        assertRejected("hysteresis(" + value + ")", builder -> builder.hysteresis(value));
    }

    @Test
    void theInitialScaleHasToLieInTheRange() {
        assertRejected(
                "initialScale(1.0)",
                builder -> builder.initialScale(1).minScale(2).build());
        assertRejected(
                "initialScale(4.0)",
                builder -> builder.initialScale(4).maxScale(2).build());
        assertRejected(
                "minScale(4.0)",
                builder -> builder.initialScale(4).minScale(4).maxScale(2).build());
    }

    @ParameterizedTest
    @CsvSource({
        "static, 1024, 0, 1",
        "dynamic, NaN, 0, 1",
        "dynamic, Infinity, 0, 1",
        "dynamic, 0, 0, 1",
        "dynamic, -1, 0, 1",
        "dynamic, 0.1, 0, 1",
        "dynamic, 33554432, 0, 1",
        "dynamic, 1024, -1, 1",
        "dynamic, 1024, 2000, 1",
        "dynamic, 1024, 0, -1",
        "dynamic, 1024, 0, 2"
    })
    void aStateThatItCannotHaveIsRejectedAndChangesNothing(
            String kind, double scale, int growthTracker, int hysteresisTracker) {
        DynamicLossScaler scaler = DynamicLossScaler.builder().build();
        scaler.update(true);
        LossScalerState before = scaler.state();
        LossScalerState state = new LossScalerState(kind, scale, growthTracker, hysteresisTracker);
        AmpException e = assertThrows(AmpException.class, () -> scaler.restore(state));
        assertTrue(e.getMessage().startsWith("restore(" + state + ")"), e.getMessage());
        assertEquals(before, scaler.state());
    }

    private static DynamicLossScaler.Builder bounded() {
        return DynamicLossScaler.builder()
                .initialScale(64)
                .growthInterval(3)
                .hysteresis(2)
                .minScale(8)
                .maxScale(128);
    }

    @Test
    void statesAtTheEdgesOfWhatIsAllowedAreRestored() {
        for (double scale : new double[] {8, 128}) {
            for (int[] trackers : new int[][] {{0, 0}, {2, 2}}) {
                LossScalerState state = new LossScalerState(DynamicLossScaler.KIND, scale, trackers[0], trackers[1]);
                DynamicLossScaler scaler = bounded().build();
                scaler.restore(state);
                assertEquals(state, scaler.state());
            }
        }
    }

    @Test
    void aStateBeyondThemIsRejectedWithWhatIsAllowed() {
        assertRejected(new LossScalerState(DynamicLossScaler.KIND, 4, 0, 1), "scale a float from 8.0 to 128.0");
        assertRejected(new LossScalerState(DynamicLossScaler.KIND, 256, 0, 1), "scale a float from 8.0 to 128.0");
        assertRejected(new LossScalerState(DynamicLossScaler.KIND, 64, 3, 1), "growthTracker from 0 to 2");
        assertRejected(new LossScalerState(DynamicLossScaler.KIND, 64, 0, 3), "hysteresisTracker from 0 to 2");
    }

    private static void assertRejected(LossScalerState state, String allowed) {
        AmpException e =
                assertThrows(AmpException.class, () -> bounded().build().restore(state));
        assertTrue(e.getMessage().contains("): " + allowed + " is what "), e::getMessage);
    }

    @Test
    void aScaleGrowsToItsLimitAndNoFurther() {
        DynamicLossScaler scaler = DynamicLossScaler.builder()
                .initialScale(64)
                .growthInterval(1)
                .maxScale(128)
                .build();
        assertScales(scaler, "..", 128, 128);
    }

    @Test
    void aKindOfEightyCharactersIsOne() {
        String longest = "k".repeat(80);
        assertEquals(longest, new LossScalerState(longest, 1, 0, 0).kind());
        assertThrows(AmpException.class, () -> new LossScalerState(longest + "k", 1, 0, 0));
    }

    @Test
    void noStateIsRejected() {
        assertThrows(
                AmpException.class, () -> DynamicLossScaler.builder().build().restore(null));
    }

    private static LossScalerState updated(LossScaler scaler, boolean overflow) {
        scaler.update(overflow);
        return scaler.state();
    }

    /** Steps: {@code o} overflows, {@code .} is finite. */
    private static void assertScales(LossScaler scaler, String steps, double... expected) {
        for (int i = 0; i < expected.length; i++) {
            scaler.update(steps.charAt(i) == 'o');
            assertEquals(expected[i], scaler.scale(), "step " + i + " of " + steps);
        }
    }

    private static void assertRejected(String argument, Consumer<DynamicLossScaler.Builder> call) {
        AmpException e = assertThrows(AmpException.class, () -> call.accept(DynamicLossScaler.builder()));
        assertTrue(e.getMessage().startsWith(argument + ": "), e.getMessage());
    }
}
