package org.dl4jamp.listeners;

import java.util.OptionalDouble;

/**
 * The figures of one iteration of a network in training.
 *
 * @param iteration DL4J's number of the iteration, as listeners are given it: the first is 0
 * @param epoch DL4J's count of epochs
 * @param loss the network's score, without the loss scale; may be NaN or infinite
 * @param lossScale the loss scale of the next step; empty if the network isn't in mixed precision
 * @param stepsTaken steps in mixed precision that have updated the parameters; 0 without mixed precision
 * @param stepsSkipped steps in mixed precision that were skipped; 0 without mixed precision
 * @param secondsPerIteration mean wall time of the iterations since the last figures; empty if none was timed
 * @param examplesPerSecond mean over the iterations since the last figures; empty if none was timed
 * @param memoryBytes physical memory of the process, with the JVM and its libraries
 */
public record StepFigures(
        int iteration,
        int epoch,
        double loss,
        OptionalDouble lossScale,
        long stepsTaken,
        long stepsSkipped,
        OptionalDouble secondsPerIteration,
        OptionalDouble examplesPerSecond,
        long memoryBytes) {}
