package org.dl4jamp.step;

/**
 * Counts the iterations of an updater, for Adam's bias correction and schedules: those of the network, without those in
 * which the updater did nothing. The network's count is read when the updater is called: a step that ended in an
 * exception isn't in it, and users may set it.
 */
final class OptimizerIterations {
    private long skipped;
    private long last = -1;
    private boolean skippedLast;

    /**
     * Called when the updater is, in an iteration of the network, with the counts of the steps before, which may have
     * been restored.
     */
    void begin(int iteration, StepCounts counts) {
        if (last < 0) {
            // Without iterations of its own, such as a clone, the network has none that were skipped either.
            skipped = Math.min(counts.withoutUpdate(), Math.max(0, iteration - counts.taken()));
        } else if (iteration < last) {
            skipped = 0;
        } else if (iteration > last && skippedLast) {
            skipped++;
        }
        last = iteration;
        skippedLast = false;
    }

    void skip() {
        skippedLast = true;
    }

    /**
     * Has the updater do something in its last iteration after all.
     *
     * @param done number of iterations that the network has counted; the last of them counts where the updater wasn't
     *     called since it was restored
     * @param counts the steps before this one
     */
    void resume(int done, StepCounts counts) {
        if (last < 0) {
            begin(Math.max(0, done - 1), counts);
        }
        skippedLast = false;
    }

    /** Returns the iterations that the updater has seen before this one. */
    int seen() {
        return (int) Math.max(0, last - skipped);
    }
}
