package org.dl4jamp.step;

/**
 * How many steps there have been.
 *
 * @param taken steps in which the parameters were updated
 * @param skipped steps that were skipped because something wasn't finite
 * @param consecutiveSkips how many of the last steps were skipped in a row
 */
public record StepCounts(long taken, long skipped, int consecutiveSkips) {
    /** No steps yet. */
    public static final StepCounts NONE = new StepCounts(0, 0, 0);

    StepCounts afterTaken() {
        return new StepCounts(taken + 1, skipped, 0);
    }

    StepCounts afterSkipped() {
        return new StepCounts(taken, skipped + 1, consecutiveSkips + 1);
    }
}
