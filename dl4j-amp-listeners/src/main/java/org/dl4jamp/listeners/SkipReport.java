package org.dl4jamp.listeners;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
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
