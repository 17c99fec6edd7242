package org.dl4jamp.onednn.primitive;

import java.util.Arrays;

/** The geometry of a window over an array, in oneDNN's terms: one number for each axis along which it moves. */
public final class WindowGeometry {
    private final long[] kernel;
    private final long[] strides;
    private final long[] gaps;
    private final long[] before;
    private final long[] after;
    private final long[] output;
    private final boolean exceedsArray;

    /** @param exceedsArray whether the window is as large as the array, or larger */
    WindowGeometry(
            long[] kernel,
            long[] strides,
            long[] gaps,
            long[] before,
            long[] after,
            long[] output,
            boolean exceedsArray) {
        this.kernel = kernel;
        this.strides = strides;
        this.gaps = gaps;
        this.before = before;
        this.after = after;
        this.output = output;
        this.exceedsArray = exceedsArray;
    }

    public long[] kernel() {
        return kernel.clone();
    }

    public long[] strides() {
        return strides.clone();
    }

    /** Returns how many numbers are between two that the window covers: DL4J's dilation less one. */
    public long[] gaps() {
        return gaps.clone();
    }

    /** Returns the same for a window of one position, in which gaps mean nothing: oneDNN looks at them all the same. */
    public WindowGeometry withoutGaps() {
        return new WindowGeometry(kernel, strides, new long[gaps.length], before, after, output, exceedsArray);
    }

    /**
     * Returns whether oneDNN's fast gradients of weights are not to be had: along three axes they read from beyond an
     * array that isn't larger than the window, and end the process.
     */
    public boolean isBeyondFastGradients() {
        return kernel.length == 3 && exceedsArray;
    }

    /**
     * Returns whether oneDNN's fast convolution of a single channel is not to be had: with one window along the last
     * axis, and a stride there, its windows are that stride apart along the axis before, too.
     */
    public boolean isBeyondFastSingleChannel() {
        int last = kernel.length - 1;
        return output[last] == 1 && strides[last] > 1 && kernel[last] > 1;
    }

    /** Returns the size of the array, padding included, that windows of these steps reach over. */
    public long[] reach() {
        long[] reach = new long[kernel.length];
        for (int axis = 0; axis < kernel.length; axis++) {
            reach[axis] = (output[axis] - 1) * strides[axis] + (kernel[axis] - 1) * (gaps[axis] + 1) + 1;
        }
        return reach;
    }

    /** Returns the padding before the array's first number. */
    public long[] before() {
        return before.clone();
    }

    /** Returns the padding after its last. */
    public long[] after() {
        return after.clone();
    }

    public long[] output() {
        return output.clone();
    }

    @Override
    public String toString() {
        return "kernel " + Arrays.toString(kernel) + ", strides " + Arrays.toString(strides) + ", gaps "
                + Arrays.toString(gaps) + ", padding " + Arrays.toString(before) + " and " + Arrays.toString(after);
    }
}
