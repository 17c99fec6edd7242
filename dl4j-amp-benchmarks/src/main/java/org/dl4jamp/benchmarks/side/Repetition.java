package org.dl4jamp.benchmarks.side;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;

/**
 * The figures from the process of a side in one repetition.
 *
 * @param seconds of a step or pass, by each reading of the clock
 * @param steps number of measured steps or passes
 * @param firstLoss mean loss at the initial weights, null in inference
 * @param loss mean loss in the step {@link Schedule#lossStep}, null in inference
 * @param difference of the outputs from stock DL4J's, in fractions of the largest of these; null in training
 * @param peakRssBytes the most memory of the process, null if unknown
 * @param activationBytes the framework's memory for activations, null if unknown
 * @param otherLoad the share of the processors' time that others took meanwhile, null if unknown
 * @param chosen precision and engine where those were the framework's own choice, null where not
 * @param profile where the time went, null if it wasn't recorded
 * @param unavailable why the side can't run, null if it ran
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Repetition(
        List<Double> seconds,
        int steps,
        Double firstLoss,
        Double loss,
        Double difference,
        Long peakRssBytes,
        Long activationBytes,
        Double otherLoad,
        String chosen,
        Profile profile,
        String unavailable) {
    /** Returns this one with the profile of another, which was recorded. */
    public Repetition with(Profile recorded) {
        return new Repetition(
                seconds,
                steps,
                firstLoss,
                loss,
                difference,
                peakRssBytes,
                activationBytes,
                otherLoad,
                chosen,
                recorded,
                unavailable);
    }

    /** Returns the repetition of a side that can't run. */
    public static Repetition unavailable(String reason) {
        return new Repetition(List.of(), 0, null, null, null, null, null, null, null, null, reason);
    }
}
