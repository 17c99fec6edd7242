package org.dl4jamp.benchmarks;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.dl4jamp.benchmarks.side.Profile;
import org.dl4jamp.benchmarks.side.Repetition;
import org.dl4jamp.benchmarks.side.Statistics;

/**
 * The figures of a side.
 *
 * @param secondsPerStep of a step or pass: the median of the repetitions' medians
 * @param spread the largest of the repetitions' medians minus the smallest, in seconds
 * @param repetitions number of repetitions
 * @param steps number of measured steps in all repetitions
 * @param firstLoss mean loss at the initial weights, null in inference
 * @param loss mean loss after the same number of steps on all sides; a floor's first, since its weights stay; null in
 *     inference
 * @param difference the largest of outputs from stock DL4J's in all repetitions, in fractions of the largest output;
 *     null in training
 * @param peakRssBytes the most memory of a process of this side
 * @param activationBytes DL4J's workspace for activations, on DL4J's sides
 * @param otherLoad the largest share of the processors' time that others took in a repetition, null if unknown
 * @param chosen precision and engine where it was this project's choice, null where not
 * @param profile where the time went in the repetition in the middle, null if it wasn't recorded
 * @param unavailable why there are no figures, null if there are
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record SideFigures(
        Double secondsPerStep,
        Double spread,
        Integer repetitions,
        Integer steps,
        Double firstLoss,
        Double loss,
        Double difference,
        Long peakRssBytes,
        Long activationBytes,
        Double otherLoad,
        String chosen,
        Profile profile,
        String unavailable) {
    static SideFigures unavailable(String reason) {
        return new SideFigures(null, null, null, null, null, null, null, null, null, null, null, null, reason);
    }

    /** Computes the figures from all repetitions of a side, one at least. */
    static SideFigures of(List<Repetition> repetitions) {
        List<Double> medians = repetitions.stream()
                .map(each -> Statistics.median(each.seconds()))
                .toList();
        Repetition first = repetitions.get(0);
        return new SideFigures(
                Statistics.median(medians),
                Statistics.range(medians),
                repetitions.size(),
                repetitions.stream().mapToInt(Repetition::steps).sum(),
                first.firstLoss(),
                first.loss(),
                largest(repetitions, Repetition::difference),
                largest(repetitions, Repetition::peakRssBytes),
                largest(repetitions, Repetition::activationBytes),
                largest(repetitions, Repetition::otherLoad),
                first.chosen(),
                profile(repetitions),
                null);
    }

    /** Returns that of the repetition in the middle: its parts and its time belong together. */
    private static Profile profile(List<Repetition> repetitions) {
        List<Profile> recorded = repetitions.stream()
                .map(Repetition::profile)
                .filter(Objects::nonNull)
                .sorted(Comparator.comparingDouble(Profile::secondsPerStep))
                .toList();
        return recorded.isEmpty() ? null : recorded.get((recorded.size() - 1) / 2);
    }

    private static <T extends Comparable<T>> T largest(List<Repetition> repetitions, Function<Repetition, T> number) {
        return repetitions.stream()
                .map(number)
                .filter(Objects::nonNull)
                .max(Comparator.naturalOrder())
                .orElse(null);
    }

    boolean isAvailable() {
        return unavailable == null;
    }
}
