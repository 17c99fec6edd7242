package org.dl4jamp.inspect.report;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.dl4jamp.listeners.SkipReport;
import org.dl4jamp.scale.Skip;

/** The backward passes that were skipped: the last ones in full, and all of them counted by cause and place. */
final class SkipLog {
    /** The most that are kept in full. */
    static final int KEPT = 10;

    /** The most places that are counted; a network has about two for each layer. */
    private static final int MOST_PLACES = 1000;

    /**
     * A cause and a place.
     *
     * @param cause the source of the numbers that aren't finite
     * @param layer the first layer with such numbers; empty if none was found
     * @param array which of its arrays
     */
    record Place(Skip.Cause cause, String layer, String array) {
        static Place of(SkipReport report) {
            return new Place(
                    report.skip().cause(),
                    report.origin().map(SkipReport.Range::layer).orElse(""),
                    report.origin().map(SkipReport.Range::array).orElse(""));
        }
    }

    /**
     * The skipped passes of one place.
     *
     * @param count number of them
     * @param first number of iterations before the first of them
     * @param last number of iterations before the last of them
     */
    record Count(Place place, long count, int first, int last) {
        Count then(Count next) {
            return new Count(place, count + next.count, first, next.last);
        }
    }

    private final Deque<SkipReport> reports = new ArrayDeque<>();
    private final Map<Place, Count> counts = new LinkedHashMap<>();

    void add(SkipReport report) {
        if (reports.size() == KEPT) {
            reports.removeFirst();
        }
        reports.addLast(report);
        Place place = Place.of(report);
        if (counts.containsKey(place) || counts.size() < MOST_PLACES) {
            counts.merge(place, new Count(place, 1, report.iteration(), report.iteration()), Count::then);
        }
    }

    /** Returns the last reports, the newest first. */
    List<SkipReport> newest() {
        List<SkipReport> newest = new ArrayList<>();
        reports.descendingIterator().forEachRemaining(newest::add);
        return newest;
    }

    /** Returns the causes and places, the most frequent first. */
    List<Count> counts() {
        return counts.values().stream()
                .sorted(Comparator.comparingLong(Count::count).reversed())
                .toList();
    }
}
