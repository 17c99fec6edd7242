package org.dl4jamp.inspect.report;

import java.util.List;
import java.util.stream.Stream;
import org.dl4jamp.listeners.SkipReport;
import org.dl4jamp.scale.Skip;

/**
 * The skipped backward passes.
 *
 * @param counts by cause and place, the most frequent first
 * @param last the last ones in full, the newest first
 */
record SkipTable(List<Count> counts, List<Detail> last) {
    /** The number of passes that were skipped for one cause at one place. */
    record Count(String count, String cause, String place, String iterations) {}

    /**
     * One skipped pass.
     *
     * @param title the iteration and the loss scale
     * @param what the reason, in a sentence
     * @param origin the first array that isn't finite
     * @param found whether there is one
     * @param ranges the arrays before it, the nearest last, then the origin; or the batch
     */
    record Detail(String title, String what, String origin, boolean found, List<Array> ranges) {}

    /** An array. */
    record Array(String layer, String array, String largest, String nonFinite, boolean bad) {
        static Array of(SkipReport.Range range) {
            return new Array(
                    range.layer(),
                    range.array(),
                    Numbers.number(range.largest()),
                    range.nonFinite() == 0
                            ? "all"
                            : Numbers.whole(range.length() - range.nonFinite()) + " of "
                                    + Numbers.whole(range.length()),
                    range.nonFinite() > 0);
        }
    }

    static SkipTable of(SkipLog log) {
        return new SkipTable(
                log.counts().stream().map(SkipTable::count).toList(),
                log.newest().stream().map(SkipTable::detail).toList());
    }

    private static Count count(SkipLog.Count count) {
        SkipLog.Place place = count.place();
        return new Count(
                Numbers.whole(count.count()),
                cause(place.cause()),
                place.layer().isEmpty() ? "" : place.array() + " of " + place.layer(),
                count.first() == count.last()
                        ? Numbers.whole(count.first())
                        : Numbers.whole(count.first()) + " to " + Numbers.whole(count.last()));
    }

    private static String cause(Skip.Cause cause) {
        return switch (cause) {
            case BATCH -> "the batch isn’t finite";
            case LOSS -> "the loss isn’t finite";
            case OVERFLOW -> "gradients overflow";
            case UNSCALED -> "gradients aren’t finite, without a loss scale";
        };
    }

    private static Detail detail(SkipReport report) {
        List<Array> ranges = report.skip().cause() == Skip.Cause.BATCH
                ? report.batch().stream().map(Array::of).toList()
                : Stream.concat(report.before().stream(), report.origin().stream())
                        .map(Array::of)
                        .toList();
        return new Detail(
                "Iteration " + Numbers.whole(report.iteration()) + ", loss scale " + Numbers.scale(report.lossScale()),
                capitalized(report.skip().what()) + ".",
                report.origin()
                        .map(range -> range.array() + " of " + range.layer())
                        .orElse(""),
                report.origin().isPresent(),
                ranges);
    }

    private static String capitalized(String sentence) {
        return sentence.isEmpty() ? sentence : Character.toUpperCase(sentence.charAt(0)) + sentence.substring(1);
    }
}
