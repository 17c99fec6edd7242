package org.dl4jamp.layer;

import java.util.ArrayList;
import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** Some of a network's parameters by where they lie in its arrays, in as few intervals as there can be. */
public final class Intervals {
    private record Interval(long start, long end) {}

    private final List<Interval> joined = new ArrayList<>();

    /** Adds an interval behind all that were added before. One without parameters is no matter. */
    public void add(long start, long end) {
        if (end == start) {
            return;
        }
        Interval last = joined.isEmpty() ? null : joined.get(joined.size() - 1);
        if (last != null && last.end() == start) {
            joined.set(joined.size() - 1, new Interval(last.start(), end));
        } else {
            joined.add(new Interval(start, end));
        }
    }

    /** Returns a view of each interval of an array, with one axis. */
    public List<INDArray> of(INDArray array) {
        INDArray flat = array.reshape(array.length());
        return joined.stream()
                .map(interval -> flat.get(NDArrayIndex.interval(interval.start(), interval.end())))
                .toList();
    }
}
