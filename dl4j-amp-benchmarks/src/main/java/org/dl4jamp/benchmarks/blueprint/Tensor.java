package org.dl4jamp.benchmarks.blueprint;

import java.util.Arrays;

/** Numbers in FP32, the last axis contiguous. The arrays aren't copied, and must not be changed. */
public final class Tensor {
    private final long[] shape;
    private final float[] values;

    /**
     * @param shape sizes of the axes; their product is the number of values
     * @param values the last axis contiguous
     */
    public Tensor(long[] shape, float[] values) {
        if (length(shape) != values.length) {
            throw new IllegalArgumentException(
                    "shape " + Arrays.toString(shape) + " doesn't hold " + values.length + " numbers");
        }
        this.shape = shape.clone();
        this.values = values;
    }

    /** Returns a copy of its shape. */
    public long[] shape() {
        return shape.clone();
    }

    /** Returns the size of one axis. */
    public long size(int axis) {
        return shape[axis];
    }

    /** Returns the numbers themselves, not a copy. */
    public float[] values() {
        return values;
    }

    /** Returns the same numbers in another shape. */
    public Tensor reshape(long... newShape) {
        return new Tensor(newShape, values);
    }

    private static long length(long[] shape) {
        return Arrays.stream(shape).reduce(1, Math::multiplyExact);
    }
}
