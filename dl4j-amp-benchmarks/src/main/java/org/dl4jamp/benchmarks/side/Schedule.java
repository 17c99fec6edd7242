package org.dl4jamp.benchmarks.side;

/**
 * How long a repetition is. Steps and seconds are both at least: a fast side makes more steps, so that its JVM has
 * compiled what it will compile and the median has something to stand on.
 *
 * @param warmUpSteps steps that aren't measured, at least
 * @param warmUpSeconds time in which steps aren't measured, at least; it goes on for up to {@link #PATIENCE} times as
 *     long while HotSpot compiles
 * @param steps measured steps, at least
 * @param seconds time in which steps are measured, at least
 */
public record Schedule(int warmUpSteps, double warmUpSeconds, int steps, double seconds) {
    /** How many times {@link #warmUpSeconds} steps aren't measured, at most. */
    static final int PATIENCE = 6;

    /**
     * Fifteen seconds before measuring, or more: in the first ten to ninety HotSpot compiles, and on two processors its
     * threads take from a side in Java up to half its speed (sine-64: 27 ms a step after two seconds, 14 ms after
     * fifteen). Then five seconds.
     */
    public static Schedule ofSteps(int warmUpSteps, int steps) {
        return new Schedule(warmUpSteps, 15, steps, 5);
    }

    /** The step, counted from 1, whose loss all sides report, since all of them make it. */
    public int lossStep() {
        return warmUpSteps + steps;
    }
}
