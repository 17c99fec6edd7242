package org.dl4jamp.onednn.memory;

import org.bytedeco.dnnl.memory;
import org.bytedeco.javacpp.LongPointer;

/**
 * The memory from the first to the last number of an array. oneDNN's size counts the gap behind the last one, too.
 *
 * @param hasGaps whether there may be other numbers between those of the array
 */
public record Extent(long bytes, boolean hasGaps) {
    /** Returns that of an array that oneDNN describes. */
    public static Extent of(memory.desc description) {
        long size = description.get_size();
        boolean plain = size > 0
                && description.get_format_kind().value == memory.format_kind.blocked.value
                && description.get_inner_nblks() == 0;
        if (!plain) {
            return new Extent(size, true);
        }
        LongPointer shape = description.get_dims();
        LongPointer strides = description.get_strides();
        long last = 0;
        long all = 1;
        long numbers = 1;
        for (int axis = 0; axis < description.get_ndims(); axis++) {
            last += (shape.get(axis) - 1) * strides.get(axis);
            all = Math.max(all, shape.get(axis) * strides.get(axis));
            numbers *= shape.get(axis);
        }
        return new Extent(Math.min(size, size / all * (last + 1)), numbers != last + 1);
    }
}
