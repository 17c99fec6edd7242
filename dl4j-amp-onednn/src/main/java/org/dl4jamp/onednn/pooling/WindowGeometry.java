package org.dl4jamp.onednn.pooling;

import java.util.Arrays;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;

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
    public record Axis(long kernel, long stride, long gap, long before, long after, long output) {
        private static Axis ofPosition(long stride, long output) {
            return new Axis(1, stride, 0, 0, 0, output);
        }

        private boolean coversNumbers() {
            return gap == 0 ? before < kernel && after < kernel : before == 0 && after == 0;
        }

        /** Returns every so many-th window, with the padding that they cover. */
        private Axis every(long steps) {
            long some = part(output, steps);
            // oneDNN computes the number of windows of the padding.
            long less = (output - 1) * stride - (some - 1) * stride * steps;
            return new Axis(kernel, stride * steps, gap, before, Math.max(0, after - less), some);
        }
    }

    private long[] each(ToLongFunction<Axis> number) {
        return axes.stream().mapToLong(number).toArray();
    }

    public long[] kernel() {
        return each(Axis::kernel);
    }

    public long[] strides() {
        return each(Axis::stride);
    }

    /** Returns the {@link #strides}. */
    public List<Long> steps() {
        return axes.stream().map(Axis::stride).toList();
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

    /** Returns how many windows there are. */
    public long windows() {
        return Arrays.stream(output()).reduce(1, (a, b) -> a * b);
    }

    /** Returns the same for a window of one position, in which gaps mean nothing: oneDNN looks at them all the same. */
    public WindowGeometry withoutGaps() {
        List<Axis> same = axes.stream()
                .map(axis -> new Axis(axis.kernel, axis.stride, 0, axis.before, axis.after, axis.output))
                .toList();
        return new WindowGeometry(same, exceedsArray);
    }

    /** Returns windows of one position each, every so many-th one of an array. */
    static WindowGeometry positions(long[] extents, List<Long> every) {
        return new WindowGeometry(
                IntStream.range(0, extents.length)
                        .mapToObj(axis -> Axis.ofPosition(every.get(axis), part(extents[axis], every.get(axis))))
                        .toList(),
                false);
    }

    /** Returns how many of some positions there are, every so many-th one. */
    private static long part(long positions, long every) {
        return (positions - 1) / every + 1;
    }

    /** Returns the same number of windows of one position each, over an array of these positions alone. */
    public WindowGeometry withoutSteps() {
        return positions(output(), axes.stream().map(axis -> 1L).toList());
    }

    /**
     * Returns every so many-th window. Windows of one position each are over an array of these positions alone, others
     * over the same array.
     *
     * @param steps along each axis, counted in windows; ones for windows of one position that have steps themselves
     */
    public WindowGeometry every(List<Long> steps) {
        List<Axis> part = IntStream.range(0, axes.size())
                .mapToObj(axis -> axes.get(axis).every(steps.get(axis)))
                .toList();
        WindowGeometry some = new WindowGeometry(part, exceedsArray);
        return isPointwise() ? some.withoutSteps() : some;
    }

    /**
     * Returns whether each window covers a number of the array for sure. If none of some windows does, oneDNN reads
     * invalid memory.
     */
    public boolean eachCoversNumbers() {
        return axes.stream().allMatch(Axis::coversNumbers);
    }

    /** Returns whether windows are of one position, and none of padding. */
    public boolean isPointwise() {
        return axes.stream().allMatch(axis -> axis.kernel() == 1 && axis.before() == 0 && axis.after() == 0);
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
