package org.dl4jamp.gradient;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.OptionalDouble;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.step.SmallSteps;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** The sums of a group of micro-batches, with numbers by hand. */
class GradientGroupTest {
    private static final Skip BATCH = new Skip(Skip.Cause.BATCH, "batch", Optional.empty());
    private static final Skip OVERFLOW = new Skip(Skip.Cause.OVERFLOW, "overflow", Optional.empty());
    private static final Skip LATER_OVERFLOW = new Skip(Skip.Cause.OVERFLOW, "later", Optional.empty());

    /** Of 22 numbers, those from 12 on are batch normalization's running statistics. */
    private static final int LENGTH = 22;

    private static final int STATISTICS = 12;
    private static final int STATISTICS_END = 16;

    private final GradientParts parts = parts();
    private final StepKernels kernels = StepKernels.nd4j();
    private final INDArray view = Nd4j.create(DataType.FLOAT, LENGTH);
    private final GradientParts.Parted gradients = parts.of(view);

    private static GradientParts parts() {
        return new GradientParts(SmallSteps.updater(SmallSteps.normalized(new Sgd(1))));
    }

    private static GradientGroup group(int size) {
        return new GradientGroup(size, false, examples -> examples);
    }

    /** Takes and counts a micro-batch of 5 examples, all of whose numbers are one. */
    private GradientGroup.Taken take(GradientGroup group, double number) {
        view.assign(number);
        GradientGroup.Taken taken = group.take(parts, gradients, 5, kernels);
        group.count(5, taken.finite() ? Optional.empty() : Optional.of(OVERFLOW));
        return taken;
    }

    private void assertView(float ofGradients, float ofUpdates) {
        float[] expected = new float[LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            expected[i] = i >= STATISTICS && i < STATISTICS_END ? ofUpdates : ofGradients;
        }
        assertArrayEquals(expected, view.toFloatVector(), 1e-6f);
    }

    @Test
    void aGroupOfOneLeavesItsGradientsWhereTheyAre() {
        GradientGroup one = group(1);
        assertFalse(one.collects());
        assertEquals(1, one.size());
        assertEquals(new GradientGroup.Taken(true, true), take(one, 2));
        assertView(2, 2);
        assertTrue(one.isComplete());
        assertEquals(new EffectiveBatch(5, OptionalDouble.empty()), one.batch());
    }

    @Test
    void aGroupOfOneMeasuresTheNormOfMeansIfItIsWanted() {
        GradientGroup one = new GradientGroup(1, true, examples -> examples);
        assertEquals(new GradientGroup.Taken(true, true), take(one, 2));
        assertView(2, 2);
        assertEquals(
                2 * Math.sqrt(LENGTH - 4) / 5, one.batch().norm().orElseThrow(), 1e-6, "without running statistics");
    }

    @Test
    void theLastMicroBatchGetsTheSumsOfAllAndKeepsItsOwnUpdates() {
        GradientGroup three = group(3);
        assertTrue(three.collects());
        assertEquals(3, three.size());
        assertTrue(three.isEmpty());
        for (int i = 1; i <= 2; i++) {
            assertEquals(new GradientGroup.Taken(true, false), take(three, i));
            assertView(0, i);
            assertFalse(three.isComplete());
            assertFalse(three.isEmpty());
        }
        assertEquals(new GradientGroup.Taken(true, true), take(three, 4));
        assertView(1 + 2 + 4, 4);
        assertTrue(three.isComplete());
        EffectiveBatch batch = three.batch();
        assertEquals(15, batch.examples());
        assertEquals(7 * Math.sqrt(LENGTH - 4) / 15, batch.norm().orElseThrow(), 1e-6);
    }

    @Test
    void theNextGroupBeginsAtZero() {
        GradientGroup two = group(2);
        take(two, 1);
        take(two, 2);
        two.clear();
        assertTrue(two.isEmpty());
        assertFalse(two.isComplete());
        assertEquals(new EffectiveBatch(0, OptionalDouble.empty()), two.batch());
        take(two, 10);
        take(two, 20);
        assertView(30, 20);
    }

    @Test
    void infinitiesAreSeenInEachMicroBatchAndStayInTheView() {
        for (int failed = 0; failed < 3; failed++) {
            GradientGroup three = group(3);
            for (int i = 0; i < failed; i++) {
                take(three, 1);
            }
            GradientGroup.Taken taken = take(three, Double.POSITIVE_INFINITY);
            assertEquals(new GradientGroup.Taken(false, true), taken, "micro-batch " + failed);
            assertView(Float.POSITIVE_INFINITY, Float.POSITIVE_INFINITY);
        }
    }

    @Test
    void infiniteUpdatesFailAMicroBatchWhoseGradientsAreFinite() {
        for (int failed = 0; failed < 2; failed++) {
            GradientGroup two = group(2);
            for (int i = 0; i < failed; i++) {
                take(two, 1);
            }
            view.assign(1);
            view.putScalar(STATISTICS, Float.NaN);
            assertFalse(two.take(parts, gradients, 5, kernels).finite(), "micro-batch " + failed);
        }
    }

    @Test
    void afterAFailureGradientsStayInTheViewAndAreLookedAt() {
        GradientGroup three = group(3);
        take(three, Double.NaN);
        assertEquals(new GradientGroup.Taken(true, true), take(three, 2));
        assertView(2, 2);
        assertEquals(new GradientGroup.Taken(false, true), take(three, Double.NaN));
        assertTrue(three.isComplete());
        assertEquals(Optional.of(OVERFLOW), three.failure());
    }

    @Test
    void theFirstFailureIsTheGroupsUnlessAnOverflowFollowsAnother() {
        GradientGroup group = group(9);
        group.count(1, Optional.empty());
        assertEquals(Optional.empty(), group.failure());
        group.count(1, Optional.of(BATCH));
        assertEquals(Optional.of(BATCH), group.failure());
        group.count(1, Optional.of(new Skip(Skip.Cause.LOSS, "loss", Optional.empty())));
        assertEquals(Optional.of(BATCH), group.failure());
        group.count(1, Optional.of(OVERFLOW));
        assertEquals(Optional.of(OVERFLOW), group.failure());
        group.count(1, Optional.of(LATER_OVERFLOW));
        assertEquals(Optional.of(OVERFLOW), group.failure());
        group.count(1, Optional.empty());
        assertEquals(Optional.of(OVERFLOW), group.failure());
        assertEquals(6, group.batch().examples());
    }

    @Test
    void aGroupThatEndsEarlyGivesItsSumsToTheView() {
        GradientGroup three = group(3);
        take(three, 1);
        take(three, 2);
        view.assign(0);
        three.giveTo(parts, gradients, kernels);
        assertView(3, 0);
        assertEquals(3 * Math.sqrt(LENGTH - 4) / 10, three.batch().norm().orElseThrow(), 1e-6);
    }

    @Test
    void aGroupThatFailedGivesNothing() {
        GradientGroup three = group(3);
        take(three, 1);
        take(three, Double.NaN);
        view.assign(0);
        three.giveTo(parts, gradients, kernels);
        assertView(0, 0);
        assertEquals(OptionalDouble.empty(), three.batch().norm());
    }

    @Test
    void whatWaitsIsACopyThatAnotherGroupGoesOnWith() {
        GradientGroup three = group(3);
        assertEquals(Optional.empty(), three.waiting());
        take(three, 1);
        WaitingGroup waiting = three.waiting().orElseThrow();
        take(three, 2);
        assertEquals(1, waiting.microBatches());
        assertEquals(5, waiting.examples());
        assertEquals(Optional.empty(), waiting.failure());
        GradientGroup other = group(3);
        other.restore(waiting, LENGTH);
        take(other, 4);
        take(other, 8);
        assertView(1 + 4 + 8, 8);
        assertTrue(other.isComplete());
        assertEquals(15, other.batch().examples());
        assertEquals(1, waiting.sums().orElseThrow().getFloat(0), "the copy stays as it was");
    }

    @Test
    void sumsOfPartsThatWereMadeAnewGoOn() {
        GradientGroup three = group(3);
        take(three, 1);
        GradientParts others = parts();
        view.assign(2);
        three.take(others, others.of(view), 5, kernels);
        three.count(5, Optional.empty());
        assertView(0, 2);
        take(three, 4);
        assertView(7, 4);
    }

    @Test
    void aFailedGroupWaitsWithoutSums() {
        GradientGroup three = group(3);
        take(three, Double.NaN);
        WaitingGroup waiting = three.waiting().orElseThrow();
        assertEquals(new WaitingGroup(1, 5, Optional.empty(), Optional.of(OVERFLOW)), waiting);
        GradientGroup other = group(3);
        other.restore(waiting, LENGTH);
        assertEquals(new GradientGroup.Taken(true, true), take(other, 1));
        assertEquals(Optional.of(OVERFLOW), other.failure());
        assertEquals(10, other.batch().examples());
    }

    /** Such as with a smaller number of micro-batches than the group was saved with. */
    @Test
    void moreMayHaveBeenRestoredThanAGroupHas() {
        GradientGroup four = group(4);
        take(four, 1);
        take(four, 2);
        take(four, 4);
        GradientGroup two = group(2);
        two.restore(four.waiting().orElseThrow(), LENGTH);
        assertTrue(two.isComplete());
        assertEquals(new GradientGroup.Taken(true, true), take(two, 8));
        assertView(15, 8);
        assertTrue(two.isComplete());
        assertEquals(20, two.batch().examples());
    }

    @Test
    void whatIsOfAnotherNetworkIsRefused() {
        WaitingGroup other = new WaitingGroup(1, 5, Optional.of(Nd4j.create(DataType.FLOAT, 7)), Optional.empty());
        AmpException e = assertThrows(AmpException.class, () -> group(3).restore(other, LENGTH));
        assertTrue(e.getMessage().startsWith("waiting: 7 gradients, but the network has 22 parameters"), e::getMessage);
        WaitingGroup nothing = new WaitingGroup(1, 5, Optional.empty(), Optional.empty());
        AmpException of = assertThrows(AmpException.class, () -> group(3).restore(nothing, LENGTH));
        assertTrue(of.getMessage().startsWith("waiting: 0 gradients"), of::getMessage);
    }
}
