package org.dl4jamp.gradient;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.OptionalDouble;
import org.dl4jamp.step.SmallSteps;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Limits of gradients, with numbers by hand. */
class ClippingTest {
    private static final Clipping NORM = new Clipping(OptionalDouble.of(2), OptionalDouble.empty());
    private static final Clipping VALUE = new Clipping(OptionalDouble.empty(), OptionalDouble.of(0.5));

    private final INDArray sums = Nd4j.createFromArray(8f, -4, 1);
    private final INDArray means = Nd4j.createFromArray(-2f, 0.25f);
    private final INDArray updates = Nd4j.createFromArray(100f);
    private final GradientParts.Parted gradients =
            new GradientParts.Parted(null, Nd4j.createFromArray(0f), List.of(sums), List.of(means), List.of(updates));

    private void assertGradients(float[] ofSums, float... ofMeans) {
        assertArrayEquals(ofSums, sums.toFloatVector(), 1e-6f);
        assertArrayEquals(ofMeans, means.toFloatVector(), 1e-6f);
        assertArrayEquals(new float[] {100}, updates.toFloatVector(), "an update isn't clipped");
    }

    @Test
    void theFactorBringsTheNormToItsLimitAndNeverRaisesIt() {
        assertEquals(0.25, NORM.factor(OptionalDouble.of(8)));
        assertEquals(1, NORM.factor(OptionalDouble.of(2)));
        assertEquals(1, NORM.factor(OptionalDouble.of(0.1)));
        assertEquals(1, NORM.factor(OptionalDouble.of(0)));
        assertEquals(1, SmallSteps.UNCLIPPED.factor(OptionalDouble.of(8)));
        assertEquals(1, VALUE.factor(OptionalDouble.empty()), "nobody has measured the norm");
    }

    @Test
    void valuesAreClippedOnBothSidesOfZero() {
        VALUE.clipValues(List.of(sums, means));
        assertGradients(new float[] {0.5f, -0.5f, 0.5f}, -0.5f, 0.25f);
    }

    @Test
    void withoutALimitOfValuesTheyStay() {
        NORM.clipValues(List.of(sums, means));
        assertGradients(new float[] {8, -4, 1}, -2, 0.25f);
    }

    @Test
    void sumsThatAreDividedLaterAreClippedAtTheLimitTimesTheDivisor() {
        VALUE.clipBefore(gradients, 4, 1);
        assertGradients(new float[] {2, -2, 1}, -0.5f, 0.25f);
    }

    @Test
    void aNormAboveItsLimitScalesSumsAndMeansAlike() {
        NORM.clipBefore(gradients, 4, NORM.factor(OptionalDouble.of(8)));
        assertGradients(new float[] {2, -1, 0.25f}, -0.5f, 0.0625f);
    }

    @Test
    void aNormWithinItsLimitLeavesThemAsTheyAre() {
        NORM.clipBefore(gradients, 4, NORM.factor(OptionalDouble.of(1)));
        assertGradients(new float[] {8, -4, 1}, -2, 0.25f);
    }

    @Test
    void theNormIsLimitedBeforeTheValuesAre() {
        Clipping both = new Clipping(OptionalDouble.of(2), OptionalDouble.of(0.3));
        both.clipBefore(gradients, 4, both.factor(OptionalDouble.of(8)));
        assertGradients(new float[] {1.2f, -1, 0.25f}, -0.3f, 0.0625f);
    }
}
