package org.dl4jamp.benchmarks.side;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;

/**
 * What the process of a side saw in one repetition.
 *
 * @param seconds of a step or pass, by each reading of the clock
 * @param steps how many steps or passes were measured
 * @param firstLoss mean loss at the initial weights, null in inference
 * @param loss mean loss in the step {@link Schedule#lossStep}, null in inference
 * @param difference of the outputs from stock DL4J's, in fractions of the largest of these; null in training
 * @param peakRssBytes the most memory of the process, null where the operating system doesn't say
 * @param activationBytes what the framework holds for activations, null where it doesn't say
 * @param chosen precision and engine where those were the framework's own choice, null where not
 * @param profile where the time went, null if nobody asked
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
        String chosen,
        Profile profile,
        String unavailable) {
    /** That of a side that can't run. */
    public static Repetition unavailable(String reason) {
        return new Repetition(List.of(), 0, null, null, null, null, null, null, null, reason);
    }
}
