package org.dl4jamp.benchmarks.side;

/**
 * How long a repetition is. Steps and seconds are both at least: a fast side makes more steps, so that its JVM has compiled what it will
 * compile and the median has something to stand on.
 *
 * @param warmUpSteps steps that aren't measured, at least
 * @param warmUpSeconds time in which steps aren't measured, at least
 * @param steps measured steps, at least
 * @param seconds time in which steps are measured, at least
 */
public record Schedule(int warmUpSteps, double warmUpSeconds, int steps, double seconds) {
    /** The step, counted from 1, whose loss all sides report, since all of them make it. */
    public int lossStep() {
        return warmUpSteps + steps;
    }
}
