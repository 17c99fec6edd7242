package org.dl4jamp.onednn.pooling;

import java.util.Arrays;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.util.ConvolutionUtils;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Broadcast;

/**
 * A window that moves along one, two or three axes, as a layer's configuration describes it. Its {@link WindowGeometry}
 * belongs to an array of some size.
 */
public final class Window {
    private final long[] kernel;
    private final long[] strides;
    private final long[] padding;
    private final long[] dilation;
    private final ConvolutionMode mode;

    /**
     * @param axes number of axes along which it moves; DL4J's one-dimensional layers have a second number, which is
     *     ignored
     * @param padding on both sides, which counts in the modes Strict and Truncate
     * @param dilation the distance of two numbers that it covers
     */
    public Window(int axes, int[] kernel, int[] strides, int[] padding, int[] dilation, ConvolutionMode mode) {
        this.kernel = longs(axes, kernel);
        this.strides = longs(axes, strides);
        this.padding = longs(axes, padding);
        this.dilation = longs(axes, dilation);
        this.mode = mode;
    }

    private static long[] longs(int axes, int[] values) {
        return Arrays.stream(values, 0, axes).asLongStream().toArray();
    }

    public int axes() {
        return kernel.length;
    }

    private boolean anyAxis(IntPredicate predicate) {
        return IntStream.range(0, axes()).anyMatch(predicate);
    }

    private long[] eachAxis(IntToLongFunction number) {
        return IntStream.range(0, axes()).mapToLong(number).toArray();
    }

    /** Returns whether windows share numbers. */
    public boolean overlaps() {
        return anyAxis(axis -> extent(axis) > strides[axis]);
    }

    private long extent(int axis) {
        return (kernel[axis] - 1) * dilation[axis] + 1;
    }

    /**
     * Returns whether it is large and moves in steps: oneDNN's gradients of the weights of deconvolutions along three
     * axes then read beyond small arrays.
     */
    public boolean isLargeWithStrides() {
        return Arrays.stream(kernel).anyMatch(size -> size >= 7)
                && Arrays.stream(strides).anyMatch(stride -> stride > 1);
    }

    /** Returns whether DL4J's formula for the padding of the mode Same may be negative. */
    public boolean cropsInSame() {
        return mode == ConvolutionMode.Same && anyAxis(axis -> extent(axis) <= strides[axis] - 2);
    }

    /** Returns whether it may cover nothing but padding for some size of array: behind the border, or in its gaps. */
    public boolean maySeeOnlyPadding() {
        return anyAxis(axis -> {
            boolean pads = mode == ConvolutionMode.Same || padding[axis] > 0;
            boolean hasGaps = kernel[axis] > 1 && dilation[axis] > 1;
            boolean isWithinPadding = mode != ConvolutionMode.Same && padding[axis] >= extent(axis);
            return isWithinPadding || (pads && hasGaps);
        });
    }

    /**
     * Returns whether DL4J lets it move over an array of a size. Further sizes that Strict rejects differ from layer to
     * layer.
     */
    public boolean fits(long... size) {
        return switch (mode) {
            case Same -> !anyAxis(axis -> before(axis, size[axis]) < 0);
            case Causal -> true;
            case Strict -> false;
            case Truncate -> !anyAxis(axis -> size[axis] + 2 * padding[axis] < extent(axis));
        };
    }

    /** Returns whether some window covers more than padding. oneDNN's convolutions read invalid memory if none does. */
    public boolean seesNumbers(long... size) {
        return !anyAxis(axis -> !seesNumbers(axis, size[axis]));
    }

    private boolean seesNumbers(int axis, long size) {
        for (long step = 0; step < steps(axis, size); step++) {
            for (long number = 0; number < kernel[axis]; number++) {
                long place = step * strides[axis] - before(axis, size) + number * dilation[axis];
                if (place >= 0 && place < size) {
                    return true;
                }
            }
        }
        return false;
    }

    /**
     * Makes the time steps of a layer's output zero whose windows cover none that counts.
     *
     * @param mask of the layer's input, {@code [minibatch, steps]}, ones and zeros
     * @param sequences the output, {@code [minibatch, channels, steps]}
     */
    public void mask(INDArray mask, INDArray sequences) {
        // DL4J's reduction takes FP32 only.
        INDArray steps = ConvolutionUtils.cnn1dMaskReduction(
                mask.castTo(DataType.FLOAT),
                (int) kernel[0],
                (int) strides[0],
                (int) padding[0],
                (int) dilation[0],
                mode);
        if (sequences.size(0) != steps.size(0) || sequences.size(2) != steps.size(1)) {
            throw new DL4JInvalidInputException("Activations of shape " + Arrays.toString(sequences.shape())
                    + " and mask of shape " + Arrays.toString(steps.shape()) + " don't match in axes 0, 2 and 0, 1");
        }
        Broadcast.mul(sequences, steps.castTo(sequences.dataType()), sequences, 0, 2);
    }

    private long before(int axis, long size) {
        return switch (mode) {
            case Same -> ((steps(axis, size) - 1) * strides[axis] + extent(axis) - size) / 2;
            case Causal -> extent(axis) - 1;
            case Strict, Truncate -> padding[axis];
        };
    }

    /** Returns how many windows there are along an axis. */
    private long steps(int axis, long size) {
        return switch (mode) {
            case Same, Causal -> (size + strides[axis] - 1) / strides[axis];
            case Strict, Truncate -> (size + 2 * padding[axis] - extent(axis)) / strides[axis] + 1;
        };
    }

    /** Returns how it moves over an array of a size: a convolution's or pooling's geometry. */
    public WindowGeometry over(long... size) {
        long[] windows = eachAxis(axis -> steps(axis, size[axis]));
        return geometry(windows, size, eachAxis(axis -> before(axis, size[axis])), windows);
    }

    /** Returns how it moves over the padding around an array of a size, as over an array of its own without padding. */
    public WindowGeometry overPadding(long... size) {
        long[] windows = eachAxis(axis -> steps(axis, size[axis]));
        long[] reach = eachAxis(axis -> (windows[axis] - 1) * strides[axis] + extent(axis));
        return geometry(windows, reach, new long[axes()], windows);
    }

    /** Returns whether DL4J lets a deconvolution spread an array of a size out by it. */
    public boolean fitsSpread(long... size) {
        return !anyAxis(axis -> {
            long spread = spread(axis, size[axis]);
            return spread < 1 || beforeSpread(axis, size[axis], spread) < 0;
        });
    }

    private long spread(int axis, long size) {
        return mode == ConvolutionMode.Same
                ? strides[axis] * size
                : strides[axis] * (size - 1) + extent(axis) - 2 * padding[axis];
    }

    private long beforeSpread(int axis, long size, long spread) {
        return mode == ConvolutionMode.Same ? ((size - 1) * strides[axis] + extent(axis) - spread) / 2 : padding[axis];
    }

    /** Returns how an array of a size is spread out by it: a deconvolution's geometry. */
    public WindowGeometry spreadOver(long... size) {
        long[] spread = eachAxis(axis -> spread(axis, size[axis]));
        return geometry(size, spread, eachAxis(axis -> beforeSpread(axis, size[axis], spread[axis])), spread);
    }

    /**
     * Returns the geometry of windows over an array.
     *
     * @param windows how many there are along each axis
     * @param before the padding before the array
     * @param output the size of the primitive's output
     */
    private WindowGeometry geometry(long[] windows, long[] array, long[] before, long[] output) {
        List<WindowGeometry.Axis> all = IntStream.range(0, axes())
                .mapToObj(axis -> {
                    long reach = (windows[axis] - 1) * strides[axis] + extent(axis);
                    long after = Math.max(0, reach - array[axis] - before[axis]);
                    long stride = stride(axis, windows[axis], array[axis] + before[axis] + after);
                    return new WindowGeometry.Axis(
                            kernel[axis], stride, dilation[axis] - 1, before[axis], after, output[axis]);
                })
                .toList();
        return new WindowGeometry(all, anyAxis(axis -> kernel[axis] > 1 && extent(axis) >= array[axis]));
    }

    /**
     * Returns the stride along an axis; for one window the smallest that leaves no room for a second. If the stride is
     * larger than the array, oneDNN's gradients of BFLOAT16 weights are garbage, and some outputs are wrong.
     */
    private long stride(int axis, long windows, long padded) {
        return windows == 1 ? Math.max(1, padded - extent(axis) + 1) : strides[axis];
    }
}
