package org.dl4jamp.listeners;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.scale.Skip;

/**
 * The findings of {@link SkipForensics} on a skipped step.
 *
 * @param iteration DL4J's count of the iterations before it
 * @param skip its cause
 * @param lossScale the loss scale that it had
 * @param origin the first array with numbers that aren't finite: among gradients, in the order of the backward pass.
 *     Where the loss wasn't finite, among outputs of layers, in the order of the forward pass. Empty if all are finite.
 * @param before the arrays before it, the nearest last
 * @param batch the features
 */
public record SkipReport(
        int iteration, Skip skip, double lossScale, Optional<Range> origin, List<Range> before, List<Range> batch) {
    /**
     * The numbers of one array. Gradients are true ones, without the loss scale.
     *
     * @param layer name of the layer or vertex in the plan; of features that of the network's input
     * @param array {@code output}, {@code features}, or {@code gradient of W} with the name of a parameter
     * @param largest the largest finite magnitude, 0 if none is finite
     * @param nonFinite number of elements that are NaN or infinite
     * @param length number of elements
     */
    public record Range(String layer, String array, double largest, long nonFinite, long length) {
        @Override
        public String toString() {
            String where = array + " of \"" + layer + "\"";
            return nonFinite == 0
                    ? String.format(Locale.ROOT, "%s up to %.3g", where, largest)
                    : String.format(
                            Locale.ROOT,
                            "%s: %d of %d numbers aren't finite, the others up to %.3g",
                            where,
                            nonFinite,
                            length,
                            largest);
        }
    }

    /**
     * Looks at a step that is being skipped, in an observer of {@link MixedPrecision#onSkip}, for listeners of your
     * own. {@link SkipForensics} does so for each one.
     *
     * @param iteration as the observer is given it
     * @param layersBefore number of arrays to report before the first one that isn't finite
     */
    public static SkipReport of(Model model, MixedPrecision amp, Skip skip, int iteration, int layersBefore) {
        NetworkArrays arrays = new NetworkArrays(model, amp.plan());
        Optional<Range> origin = Optional.empty();
        List<Range> before = new ArrayList<>();
        for (NetworkArrays.Named array : inOrder(arrays, skip.cause())) {
            Range range = array.range();
            if (range.nonFinite() > 0) {
                origin = Optional.of(range);
                break;
            }
            before.add(range);
        }
        List<Range> batch =
                arrays.features().stream().map(NetworkArrays.Named::range).toList();
        int from = Math.max(0, before.size() - layersBefore);
        return new SkipReport(
                iteration,
                skip,
                amp.isPaused() ? 1 : amp.lossScale(),
                origin,
                origin.isPresent() ? List.copyOf(before.subList(from, before.size())) : List.of(),
                batch);
    }

    /** Returns the arrays among which the first that isn't finite shows where it began. */
    private static List<NetworkArrays.Named> inOrder(NetworkArrays arrays, Skip.Cause cause) {
        return switch (cause) {
            case LOSS -> arrays.outputs();
            case OVERFLOW, UNSCALED -> arrays.gradients();
            case BATCH -> List.of();
        };
    }

    /** Returns what is the same in all steps that are skipped for the same reason at the same place. */
    String kind() {
        return skip.cause() + " "
                + origin.map(range -> range.array() + " of " + range.layer()).orElse("");
    }

    /** Returns one line for the log. */
    @Override
    public String toString() {
        String found = origin.map(range -> "first to go non-finite in the "
                        + (skip.cause() == Skip.Cause.LOSS ? "forward" : "backward") + " pass: " + range
                        + (before.isEmpty() ? "" : "; before it: " + joined(before)))
                .orElse("no array of a layer holds a number that isn't finite");
        String what = skip.cause() == Skip.Cause.BATCH ? joined(batch) : found;
        return "Skipped after iteration " + iteration + " at loss scale " + lossScale + ": " + skip.what() + "; "
                + what;
    }

    private static String joined(List<Range> ranges) {
        return ranges.stream().map(Range::toString).collect(Collectors.joining(", "));
    }
}
