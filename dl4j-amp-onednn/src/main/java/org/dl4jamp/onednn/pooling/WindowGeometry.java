package org.dl4jamp.onednn.pooling;

import java.util.Arrays;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * The geometry of a window over an array, in oneDNN's terms.
 *
 * @param axes those along which it moves
 * @param exceedsArray whether the window is as large as the array, or larger
 */
public record WindowGeometry(List<Axis> axes, boolean exceedsArray) {
    /**
     * The geometry along one axis.
     *
     * @param gap how many numbers are between two that the window covers: DL4J's dilation less one
     * @param before the padding before the array's first number
     * @param after the padding after its last
     */
    public record Axis(long kernel, long stride, long gap, long before, long after, long output) {}

    private long[] each(ToLongFunction<Axis> number) {
        return axes.stream().mapToLong(number).toArray();
    }

    public long[] kernel() {
        return each(Axis::kernel);
    }

    public long[] strides() {
        return each(Axis::stride);
    }

    public long[] gaps() {
        return each(Axis::gap);
    }

    public long[] before() {
        return each(Axis::before);
    }

    public long[] after() {
        return each(Axis::after);
    }

    public long[] output() {
        return each(Axis::output);
    }

    /** Returns the same for a window of one position, in which gaps mean nothing: oneDNN looks at them all the same. */
    public WindowGeometry withoutGaps() {
        List<Axis> same = axes.stream()
                .map(axis -> new Axis(axis.kernel, axis.stride, 0, axis.before, axis.after, axis.output))
                .toList();
        return new WindowGeometry(same, exceedsArray);
    }

    /**
     * Returns the same for images in {@linkplain SideBySide one long row}: two neighbours of an image are as far apart
     * as there are images.
     */
    public WindowGeometry sideBySide(long images) {
        Axis last = axes.get(1);
        Axis apart = new Axis(
                last.kernel,
                1,
                (last.gap + 1) * images - 1,
                last.before * images,
                last.after * images,
                last.output * images);
        return new WindowGeometry(List.of(axes.get(0), apart), exceedsArray);
    }

    /**
     * Returns whether oneDNN's fast gradients of weights can't be used. Along three axes they read beyond an array that
     * isn't larger than the window, and end the process.
     */
    public boolean isBeyondFastGradients() {
        return axes.size() == 3 && exceedsArray;
    }

    /**
     * Returns whether oneDNN's fast convolution of a single channel can't be used. With one window along the last axis,
     * and a stride there, its windows are that stride apart along the axis before, too.
     */
    public boolean isBeyondFastSingleChannel() {
        Axis last = axes.get(axes.size() - 1);
        return last.output == 1 && last.stride > 1 && last.kernel > 1;
    }

    /** Returns the size of the array, padding included, that windows of these steps reach over. */
    public long[] reach() {
        return each(axis -> (axis.output - 1) * axis.stride + (axis.kernel - 1) * (axis.gap + 1) + 1);
    }

    @Override
    public String toString() {
        return "kernel " + Arrays.toString(kernel()) + ", strides " + Arrays.toString(strides()) + ", gaps "
                + Arrays.toString(gaps()) + ", padding " + Arrays.toString(before()) + " and "
                + Arrays.toString(after());
    }
}
