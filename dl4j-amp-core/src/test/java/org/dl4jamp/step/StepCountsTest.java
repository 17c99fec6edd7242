package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class StepCountsTest {
    private static final StepCounts SOME = new StepCounts(5, 7, 2, 11);

    @Test
    void eachKindOfIterationHasItsCount() {
        assertEquals(new StepCounts(6, 7, 0, 11), SOME.afterTaken());
        assertEquals(new StepCounts(5, 8, 3, 11), SOME.afterSkipped());
        assertEquals(new StepCounts(5, 7, 2, 12), SOME.afterCollected());
        assertEquals(new StepCounts(5, 7, 2, 10), SOME.withoutLastCollected());
        assertEquals(18, SOME.withoutUpdate());
        assertEquals(0, StepCounts.NONE.withoutUpdate());
    }

    @Test
    void anUpdaterHasSeenTheNetworksIterationsWithoutThoseInWhichItDidNothing() {
        OptimizerIterations iterations = new OptimizerIterations();
        StepCounts counts = StepCounts.NONE;
        assertEquals(0, iterations.seen());
        // Of iterations 0 to 5, numbers 1 and 4 are skipped.
        int[] expected = {0, 1, 1, 2, 3, 3};
        for (int iteration = 0; iteration < expected.length; iteration++) {
            iterations.begin(iteration, counts);
            assertEquals(expected[iteration], iterations.seen(), "iteration " + iteration);
            if (iteration == 1 || iteration == 4) {
                iterations.skip();
                counts = counts.afterSkipped();
            } else {
                counts = counts.afterTaken();
            }
        }
    }

    @Test
    void anIterationThatIsBegunAgainIsCountedOnce() {
        OptimizerIterations iterations = new OptimizerIterations();
        iterations.begin(3, StepCounts.NONE);
        iterations.skip();
        iterations.begin(3, StepCounts.NONE);
        assertEquals(3, iterations.seen());
        iterations.begin(4, StepCounts.NONE);
        assertEquals(4, iterations.seen(), "iteration 3 was no skip in the end");
        iterations.skip();
        iterations.begin(5, StepCounts.NONE);
        iterations.begin(5, StepCounts.NONE);
        assertEquals(4, iterations.seen(), "iteration 4 was one");
    }

    @Test
    void aNetworkWhoseCountWasSetBackHasSkippedNothing() {
        OptimizerIterations iterations = new OptimizerIterations();
        iterations.begin(0, StepCounts.NONE);
        iterations.skip();
        iterations.begin(1, StepCounts.NONE);
        assertEquals(0, iterations.seen());
        iterations.skip();
        iterations.begin(0, StepCounts.NONE);
        assertEquals(0, iterations.seen());
        iterations.begin(1, StepCounts.NONE);
        assertEquals(1, iterations.seen());
    }

    @Test
    void restoredCountsAreThoseOfTheNetworksIterationsAtMost() {
        assertEquals(13, seenFirst(20, new StepCounts(13, 4, 0, 3)));
        assertEquals(13, seenFirst(16, new StepCounts(13, 4, 0, 3)), "it has counted 3 of 7 only");
        assertEquals(0, seenFirst(0, new StepCounts(13, 4, 0, 3)), "a clone, without iterations");
        assertEquals(93, seenFirst(100, new StepCounts(13, 4, 0, 3)), "trained without before");
    }

    private static int seenFirst(int iteration, StepCounts restored) {
        OptimizerIterations iterations = new OptimizerIterations();
        iterations.begin(iteration, restored);
        return iterations.seen();
    }

    @Test
    void anIterationThatIsResumedIsNoSkip() {
        OptimizerIterations iterations = new OptimizerIterations();
        iterations.begin(3, StepCounts.NONE);
        iterations.skip();
        iterations.resume(4, StepCounts.NONE);
        assertEquals(3, iterations.seen());
        iterations.begin(4, StepCounts.NONE);
        assertEquals(4, iterations.seen());
        OptimizerIterations first = new OptimizerIterations();
        first.begin(0, StepCounts.NONE);
        first.resume(9, StepCounts.NONE);
        assertEquals(0, first.seen(), "the updater was called in iteration 0");
    }

    @Test
    void theLastIterationCountsIfItIsResumedAfterARestore() {
        OptimizerIterations iterations = new OptimizerIterations();
        // Of 8 iterations, 2 were skipped and 1 was collected; the last one is resumed.
        iterations.resume(8, new StepCounts(4, 2, 0, 1));
        assertEquals(4, iterations.seen());
        OptimizerIterations none = new OptimizerIterations();
        none.resume(0, StepCounts.NONE);
        assertEquals(0, none.seen());
        none.begin(1, StepCounts.NONE);
        assertEquals(1, none.seen());
    }
}
