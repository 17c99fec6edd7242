package org.dl4jamp.benchmarks.blueprint;

import java.util.Arrays;

/** Numbers in FP32, the last axis contiguous. The arrays aren't copied, and must not be changed. */
public final class Tensor {
    private final long[] shape;
    private final float[] values;

    /**
     * @param shape whose product is the number of values
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

    /** A copy of its shape. */
    public long[] shape() {
        return shape.clone();
    }

    /** The size of one axis. */
    public long size(int axis) {
        return shape[axis];
    }

    /** The numbers themselves, not a copy. */
    public float[] values() {
        return values;
    }

    /** The same numbers in another shape. */
    public Tensor reshape(long... newShape) {
        return new Tensor(newShape, values);
    }

    private static long length(long[] shape) {
        return Arrays.stream(shape).reduce(1, Math::multiplyExact);
    }
}
