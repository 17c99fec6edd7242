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
 * @param turns in how many parts they are measured, between which other sides' are
 */
public record Schedule(int warmUpSteps, double warmUpSeconds, int steps, double seconds, int turns) {
    /** The limit of the warm-up, in multiples of {@link #warmUpSeconds}. */
    static final int PATIENCE = 6;

    /**
     * Returns a schedule with fifteen seconds or more before measuring, and then five. HotSpot compiles in the first
     * ten to ninety. On two processors its threads take up to half the speed of a side in Java: sine-64 takes 27 ms a
     * step after two seconds, and 14 ms after fifteen.
     */
    public static Schedule ofSteps(int warmUpSteps, int steps) {
        return new Schedule(warmUpSteps, 15, steps, 5, 1);
    }

    /** Returns the measured steps of a turn, at least. */
    int stepsOfTurn() {
        return (steps + turns - 1) / turns;
    }

    /** Returns the time in which steps are measured in a turn, at least. */
    double secondsOfTurn() {
        return seconds / turns;
    }

    /** Returns the step, counted from 1, of the loss that all sides report, since all of them make it. */
    public int lossStep() {
        return warmUpSteps + steps;
    }
}
