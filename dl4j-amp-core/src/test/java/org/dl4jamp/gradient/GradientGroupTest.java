package org.dl4jamp.gradient;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.OptionalDouble;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.gradient.GradientGroup.EffectiveBatch;
import org.dl4jamp.gradient.GradientGroup.WaitingGroup;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.Skip;
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

    private final StepKernels kernels = StepKernels.nd4j();
    private final INDArray view = Nd4j.create(DataType.FLOAT, LENGTH);
    private final GradientParts.Parted gradients = parts().of(view);

    private static GradientParts parts() {
        return new GradientParts(
                SmallSteps.updater(SmallSteps.normalized(new Sgd(1))).getUpdaterBlocks());
    }

    private static GradientGroup group(int size) {
        return new GradientGroup(size, false, examples -> examples);
    }

    /** Takes and counts a micro-batch of 5 examples, all of whose numbers are one. */
    private boolean take(GradientGroup group, double number) {
        view.assign(number);
        boolean finite = group.take(gradients, 5, kernels);
        group.count(5, finite ? Optional.empty() : Optional.of(OVERFLOW));
        return finite;
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
        assertTrue(take(one, 2));
        assertView(2, 2);
        assertTrue(one.isComplete());
        assertEquals(new EffectiveBatch(5, OptionalDouble.empty(), Optional.empty()), one.end());
    }

    @Test
    void aGroupOfOneMeasuresTheNormOfMeansIfItIsWanted() {
        GradientGroup one = new GradientGroup(1, true, examples -> examples);
        assertTrue(take(one, 2));
        assertView(2, 2);
        assertEquals(2 * Math.sqrt(LENGTH - 4) / 5, one.end().norm().orElseThrow(), 1e-6, "without running statistics");
    }

    @Test
    void theLastMicroBatchGetsTheSumsOfAllAndKeepsItsOwnUpdates() {
        GradientGroup three = group(3);
        assertTrue(three.collects());
        assertEquals(3, three.size());
        assertTrue(three.isEmpty());
        for (int i = 1; i <= 2; i++) {
            assertTrue(take(three, i));
            assertView(0, i);
            assertFalse(three.isComplete());
            assertFalse(three.isEmpty());
        }
        assertTrue(take(three, 4));
        assertView(1 + 2 + 4, 4);
        assertTrue(three.isComplete());
        EffectiveBatch batch = three.end();
        assertEquals(15, batch.examples());
        assertEquals(7 * Math.sqrt(LENGTH - 4) / 15, batch.norm().orElseThrow(), 1e-6);
    }

    @Test
    void theNextGroupBeginsAtZero() {
        GradientGroup two = group(2);
        take(two, 1);
        take(two, 2);
        two.end();
        assertTrue(two.isEmpty());
        assertFalse(two.isComplete());
        assertEquals(new EffectiveBatch(0, OptionalDouble.empty(), Optional.empty()), two.end());
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
            assertFalse(take(three, Double.POSITIVE_INFINITY), "micro-batch " + failed);
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
            assertFalse(two.take(gradients, 5, kernels), "micro-batch " + failed);
        }
    }

    @Test
    void afterAFailureGradientsAreCheckedAndThoseThatAreFiniteLeaveTheView() {
        GradientGroup three = group(3);
        take(three, Double.NaN);
        assertTrue(take(three, 2));
        assertView(0, 2);
        assertFalse(take(three, Double.NaN));
        assertView(Float.NaN, Float.NaN);
        assertTrue(three.isComplete());
        assertEquals(Optional.of(OVERFLOW), three.end().skip());
    }

    /** Returns the batch of a group whose micro-batches were skipped for these reasons, or for none. */
    private static EffectiveBatch counted(Skip... skips) {
        GradientGroup group = group(9);
        for (Skip skip : skips) {
            group.count(1, Optional.ofNullable(skip));
        }
        return group.end();
    }

    @Test
    void theFirstFailureIsTheGroupsUnlessAnOverflowFollowsAnother() {
        Skip loss = new Skip(Skip.Cause.LOSS, "loss", Optional.empty());
        assertEquals(Optional.empty(), counted(null, null).skip());
        assertEquals(Optional.of(BATCH), counted(null, BATCH).skip());
        assertEquals(Optional.of(BATCH), counted(null, BATCH, loss).skip());
        assertEquals(Optional.of(OVERFLOW), counted(BATCH, loss, OVERFLOW).skip());
        assertEquals(
                Optional.of(OVERFLOW), counted(BATCH, OVERFLOW, LATER_OVERFLOW).skip());
        EffectiveBatch last = counted(null, BATCH, loss, OVERFLOW, LATER_OVERFLOW, null);
        assertEquals(Optional.of(OVERFLOW), last.skip());
        assertEquals(6, last.examples());
    }

    @Test
    void aGroupThatEndsEarlyGivesItsSumsToTheView() {
        GradientGroup three = group(3);
        take(three, 1);
        take(three, 2);
        view.assign(0);
        three.giveTo(gradients, kernels);
        assertView(3, 0);
        assertEquals(3 * Math.sqrt(LENGTH - 4) / 10, three.end().norm().orElseThrow(), 1e-6);
    }

    @Test
    void aGroupThatFailedGivesNothing() {
        GradientGroup three = group(3);
        take(three, 1);
        take(three, Double.NaN);
        view.assign(0);
        three.giveTo(gradients, kernels);
        assertView(0, 0);
        assertEquals(OptionalDouble.empty(), three.end().norm());
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
        assertEquals(Optional.empty(), waiting.skip());
        GradientGroup other = group(3);
        other.restore(waiting, LENGTH);
        take(other, 4);
        take(other, 8);
        assertView(1 + 4 + 8, 8);
        assertTrue(other.isComplete());
        assertEquals(15, other.end().examples());
        assertEquals(1, waiting.sums().orElseThrow().getFloat(0), "the copy stays as it was");
    }

    @Test
    void sumsOfPartsThatWereMadeAnewGoOn() {
        GradientGroup three = group(3);
        take(three, 1);
        view.assign(2);
        three.take(parts().of(view), 5, kernels);
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
        assertTrue(take(other, 1));
        assertEquals(new EffectiveBatch(10, OptionalDouble.empty(), Optional.of(OVERFLOW)), other.end());
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
        assertTrue(take(two, 8));
        assertView(15, 8);
        assertTrue(two.isComplete());
        assertEquals(20, two.end().examples());
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
