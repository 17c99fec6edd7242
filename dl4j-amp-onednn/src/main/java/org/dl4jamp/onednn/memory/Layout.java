package org.dl4jamp.onednn.memory;

import java.util.Arrays;
import java.util.Optional;
import org.bytedeco.dnnl.memory;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The layout of an array in memory: type, shape and strides. */
public final class Layout {
    private static final int LARGEST_RANK = 6;

    private final DataType type;
    private final long[] shape;
    private final long[] strides;

    private Layout(DataType type, long[] shape, long[] strides) {
        this.type = type;
        this.shape = shape;
        this.strides = strides;
    }

    /** Returns the layout with the last axis contiguous, ND4J's order {@code c}. */
    public static Layout dense(DataType type, long... shape) {
        return new Layout(type, shape, strides(shape, axesOfDense(shape.length)));
    }

    /**
     * Axis 1, the channels, contiguous; the others in their order. For a matrix or vector the same as {@link #dense}.
     */
    public static Layout channelsLast(DataType type, long... shape) {
        return new Layout(type, shape, strides(shape, axesOfChannelsLast(shape.length)));
    }

    public static Layout strided(DataType type, long[] shape, long... strides) {
        return new Layout(type, shape, strides);
    }

    public static Layout of(INDArray array) {
        long[] shape = array.shape();
        Layout channelsLast = channelsLast(array.dataType(), shape);
        if (channelsLast.isThatOf(array)) {
            return channelsLast;
        }
        Layout dense = dense(array.dataType(), shape);
        return dense.isThatOf(array) ? dense : new Layout(array.dataType(), shape, array.stride());
    }

    /** Returns whether oneDNN can read an array with this layout in place. */
    public static boolean isReadable(INDArray array) {
        if (array.isEmpty() || array.rank() == 0 || array.rank() > LARGEST_RANK || !isKnown(array.dataType())) {
            return false;
        }
        for (int axis = 0; axis < array.rank(); axis++) {
            if (array.size(axis) > 1 && array.stride(axis) <= 0) {
                return false;
            }
        }
        return true;
    }

    /** Returns whether oneDNN and ND4J mean the same by a type. */
    public static boolean isKnown(DataType type) {
        return type == DataType.FLOAT || type == DataType.BFLOAT16;
    }

    /** Returns whether an array's type, shape and strides are these, strides of axes with one element aside. */
    public boolean isThatOf(INDArray array) {
        if (array.dataType() != type || array.rank() != shape.length) {
            return false;
        }
        for (int axis = 0; axis < shape.length; axis++) {
            if (array.size(axis) != shape[axis] || (shape[axis] > 1 && array.stride(axis) != strides[axis])) {
                return false;
            }
        }
        return true;
    }

    /** Returns whether another layout of the same shape has the same strides, those of axes with one element aside. */
    boolean isSameMemory(Layout other) {
        for (int axis = 0; axis < shape.length; axis++) {
            if (shape[axis] > 1 && strides[axis] != other.strides[axis]) {
                return false;
            }
        }
        return true;
    }

    /** Returns the same memory, its axes counted in another order. */
    public Layout permuted(int... axes) {
        long[] ownShape = new long[axes.length];
        long[] ownStrides = new long[axes.length];
        for (int axis = 0; axis < axes.length; axis++) {
            ownShape[axis] = shape[axes[axis]];
            ownStrides[axis] = strides[axes[axis]];
        }
        return new Layout(type, ownShape, ownStrides);
    }

    /**
     * Returns the same memory as a matrix with a column for each channel, and a row for each position of each example.
     * For channels-last arrays, and for weights of one position.
     */
    public Layout asMatrix() {
        long rows = shape[0];
        long rowStride = strides[0];
        for (int axis = 2; axis < shape.length; axis++) {
            rows *= shape[axis];
            rowStride = shape[axis] > 1 ? Math.min(rowStride, strides[axis]) : rowStride;
        }
        return new Layout(type, new long[] {rows, shape[1]}, new long[] {rowStride, strides[1]});
    }

    /** Returns the same memory with a row for each example; empty if it isn't {@link #dense}. */
    public Optional<Layout> asRows() {
        Layout dense = dense(type, shape);
        return dense.isSameMemory(this) ? Optional.of(dense(type, shape[0], length() / shape[0])) : Optional.empty();
    }

    /** Returns shape and order in memory, of another type. */
    public Layout as(DataType other) {
        return new Layout(other, shape, strides);
    }

    public DataType type() {
        return type;
    }

    public long length() {
        return Arrays.stream(shape).reduce(1, (x, y) -> x * y);
    }

    /** Returns a copy of its shape. */
    public long[] shape() {
        return shape.clone();
    }

    /** Returns the sizes of the axes behind the second: height and width of images. */
    public long[] extents() {
        return Arrays.copyOfRange(shape, 2, shape.length);
    }

    /** Returns a copy of its strides. */
    long[] strides() {
        return strides.clone();
    }

    public memory.desc descriptor() {
        return new memory.desc(shape, typeOf(type), strides);
    }

    /** Returns a description of type and shape that leaves the order to oneDNN. */
    public static memory.desc any(DataType type, long... shape) {
        return new memory.desc(shape, typeOf(type), memory.format_tag.any);
    }

    private static memory.data_type typeOf(DataType type) {
        return type == DataType.BFLOAT16 ? memory.data_type.bf16 : memory.data_type.f32;
    }

    private static int[] axesOfDense(int rank) {
        int[] axes = new int[rank];
        Arrays.setAll(axes, axis -> axis);
        return axes;
    }

    /** Returns the axes from the outermost in memory to the innermost, the channels. */
    public static int[] axesOfChannelsLast(int rank) {
        if (rank < 3) {
            return axesOfDense(rank);
        }
        int[] axes = new int[rank];
        Arrays.setAll(axes, place -> place == 0 ? 0 : place == rank - 1 ? 1 : place + 1);
        return axes;
    }

    private static long[] strides(long[] shape, int[] axes) {
        long[] strides = new long[shape.length];
        long stride = 1;
        for (int place = axes.length - 1; place >= 0; place--) {
            strides[axes[place]] = stride;
            stride *= shape[axes[place]];
        }
        return strides;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Layout layout
                && layout.type == type
                && Arrays.equals(layout.shape, shape)
                && Arrays.equals(layout.strides, strides);
    }

    @Override
    public int hashCode() {
        return 31 * (31 * type.hashCode() + Arrays.hashCode(shape)) + Arrays.hashCode(strides);
    }

    @Override
    public String toString() {
        return type + " " + Arrays.toString(shape) + " with strides " + Arrays.toString(strides);
    }
}
