package org.dl4jamp.benchmarks.side;

/**
 * The length of a repetition. Steps and seconds are both minimums. A fast side makes more steps, so that its JVM has
 * compiled and the median is of many steps.
 *
 * @param warmUpSteps steps that aren't measured, at least
 * @param warmUpSeconds time in which steps aren't measured, at least; it goes on for up to {@link #PATIENCE} times as
 *     long while HotSpot compiles
 * @param steps measured steps, at least
 * @param seconds time in which steps are measured, at least
 */
public record Schedule(int warmUpSteps, double warmUpSeconds, int steps, double seconds) {
    /** The limit of the warm-up, in multiples of {@link #warmUpSeconds}. */
    static final int PATIENCE = 6;

    /**
     * Returns a schedule with fifteen seconds before measuring, or more: in the first ten to ninety HotSpot compiles,
     * and on two processors its threads take from a side in Java up to half its speed (sine-64: 27 ms a step after two
     * seconds, 14 ms after fifteen). Then five seconds.
     */
    public static Schedule ofSteps(int warmUpSteps, int steps) {
        return new Schedule(warmUpSteps, 15, steps, 5);
    }

    /** Returns the step, counted from 1, of the loss that all sides report, since all of them make it. */
    public int lossStep() {
        return warmUpSteps + steps;
    }
}
