package org.dl4jamp.step;

/**
 * The counts of steps.
 *
 * @param taken steps in which the parameters were updated
 * @param skipped steps that were skipped because something wasn't finite
 * @param consecutiveSkips number of the last steps that were skipped in a row
 * @param collected iterations that were no steps: their gradients were only added up
 */
public record StepCounts(long taken, long skipped, int consecutiveSkips, long collected) {
    /** No steps yet. */
    public static final StepCounts NONE = new StepCounts(0, 0, 0, 0);

    StepCounts afterTaken() {
        return new StepCounts(taken + 1, skipped, 0, collected);
    }

    StepCounts afterSkipped() {
        return new StepCounts(taken, skipped + 1, consecutiveSkips + 1, collected);
    }

    StepCounts afterCollected() {
        return new StepCounts(taken, skipped, consecutiveSkips, collected + 1);
    }

    /** Counts the last iteration as a step after all. */
    StepCounts withoutLastCollected() {
        return new StepCounts(taken, skipped, consecutiveSkips, collected - 1);
    }

    /** Returns the iterations of the network in which its updater did nothing. */
    long withoutUpdate() {
        return skipped + collected;
    }
}
