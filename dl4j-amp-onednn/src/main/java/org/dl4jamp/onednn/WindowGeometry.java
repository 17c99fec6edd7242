package org.dl4jamp.onednn;

import java.util.Arrays;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.util.ConvolutionUtils;
import org.nd4j.linalg.api.ndarray.INDArray;

/** How a window moves over images, as oneDNN counts it: pairs of numbers for height and width. */
final class WindowGeometry {
    private final long[] kernel;
    private final long[] strides;
    private final long[] gaps;
    private final long[] before;
    private final long[] after;
    private final long[] output;

    private WindowGeometry(long[] kernel, long[] strides, long[] gaps, long[] before, long[] after, long[] output) {
        this.kernel = kernel;
        this.strides = strides;
        this.gaps = gaps;
        this.before = before;
        this.after = after;
        this.output = output;
    }

    /**
     * DL4J's geometry for images of a shape.
     *
     * @param images {@code [minibatch, channels, height, width]}
     * @throws org.deeplearning4j.exception.DL4JInvalidInputException if the window doesn't fit
     */
    static WindowGeometry of(
            INDArray images, int[] kernel, int[] strides, int[] padding, int[] dilation, ConvolutionMode mode) {
        boolean same = mode == ConvolutionMode.Same;
        int[] out = ConvolutionUtils.getOutputSize(
                images, kernel, strides, same ? null : padding, mode, dilation, CNN2DFormat.NCHW);
        int[] in = {(int) images.size(2), (int) images.size(3)};
        int[] before = same ? ConvolutionUtils.getSameModeTopLeftPadding(out, in, kernel, strides, dilation) : padding;
        long[] after = new long[2];
        for (int axis = 0; axis < 2; axis++) {
            int seen = (out[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilation[axis] + 1;
            after[axis] = Math.max(0, seen - in[axis] - before[axis]);
        }
        return new WindowGeometry(
                longs(kernel),
                longs(strides),
                Arrays.stream(dilation).mapToLong(d -> d - 1L).toArray(),
                longs(before),
                after,
                longs(out));
    }

    /** The window's size. */
    long[] kernel() {
        return kernel.clone();
    }

    /** Its steps. */
    long[] strides() {
        return strides.clone();
    }

    /** How many pixels lie between two that the window sees: DL4J's dilation less one. */
    long[] gaps() {
        return gaps.clone();
    }

    /** Padding above and left. */
    long[] before() {
        return before.clone();
    }

    /** Padding below and right. */
    long[] after() {
        return after.clone();
    }

    /** Height and width of what the window gives. */
    long[] output() {
        return output.clone();
    }

    private static long[] longs(int[] values) {
        return Arrays.stream(values).asLongStream().toArray();
    }

    @Override
    public String toString() {
        return "kernel " + Arrays.toString(kernel) + ", strides " + Arrays.toString(strides) + ", gaps "
                + Arrays.toString(gaps) + ", padding " + Arrays.toString(before) + " and " + Arrays.toString(after);
    }
}
