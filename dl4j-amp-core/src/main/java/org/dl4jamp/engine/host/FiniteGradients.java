package org.dl4jamp.engine.host;

import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The gradients that a backward pass of a network has written and that nobody has to read to know that they're finite. A layer that knows it of its own says so
 * as soon as they're written; all is forgotten when the next backward pass begins, and once somebody has asked.
 */
public final class FiniteGradients {
    private final NavigableMap<Long, FlatFloats> known = new TreeMap<>();
    private boolean inBackward;

    /** A backward pass begins. */
    void begin() {
        known.clear();
        inBackward = true;
    }

    /**
     * Hears of gradients that have just been written.
     *
     * @param gradients FLOAT, without gaps
     * @param finite whether all of them are known to be finite
     */
    public void written(INDArray gradients, boolean finite) {
        FlatFloats.of(gradients).ifPresent(flat -> {
            if (finite && inBackward) {
                known.put(flat.address(), flat);
            } else {
                known.remove(flat.address());
            }
        });
    }

    /** What of some numbers has to be read; what was known isn't afterwards. */
    List<FlatFloats> takeUnknown(FlatFloats numbers) {
        List<FlatFloats> unknown = new ArrayList<>();
        long read = 0;
        for (FlatFloats part : known.values()) {
            long start = (part.address() - numbers.address()) / Float.BYTES;
            if (start >= read && start + part.length() <= numbers.length()) {
                if (start > read) {
                    unknown.add(numbers.part(read, start - read));
                }
                read = start + part.length();
            }
        }
        if (read < numbers.length()) {
            unknown.add(numbers.part(read, numbers.length() - read));
        }
        known.clear();
        inBackward = false;
        return unknown;
    }
}
