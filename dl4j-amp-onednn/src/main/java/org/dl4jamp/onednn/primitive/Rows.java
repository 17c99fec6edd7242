package org.dl4jamp.onednn.primitive;

import java.util.Optional;

/**
 * The rows of a kernel that computes each row of its output from the same row of its input. A row has the channels of a
 * pixel, for example, or the numbers of an example.
 */
public interface Rows {
    /** Returns how many there are. */
    long count();

    /** Returns the bytes of a row of the input. */
    long inputBytes();

    /** Returns the bytes of a row of the output. */
    long outputBytes();

    /**
     * Returns the kernel of fewer rows, which reads the same copies of weights. The kernel of all rows closes it.
     *
     * @return empty if oneDNN would read the weights in another order
     */
    Optional<Kernel> kernel(long rows);
}
