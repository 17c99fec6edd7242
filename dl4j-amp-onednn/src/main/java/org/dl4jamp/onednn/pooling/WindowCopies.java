package org.dl4jamp.onednn.pooling;

import java.util.Arrays;
import java.util.List;
import org.dl4jamp.onednn.memory.Gather;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;

/**
 * The numbers under each window, and zeros where it covers padding, one window behind the other: the matrix by which a
 * convolution is a product ("im2col").
 */
public final class WindowCopies {
    private static final long PADDING = -1;

    private WindowCopies() {}

    /** Returns the layout {@code [windows of all examples, channels, window's extents]} of the copies. */
    public static Layout layout(WindowGeometry geometry, Layout input) {
        long[] shape = input.shape();
        long windows = shape[0] * geometry.windows();
        return Layout.channelsLast(input.type(), Workspaces.shape(windows, shape[1], geometry.kernel()));
    }

    /**
     * Returns what copies the windows.
     *
     * @param layer the layer's name, for error messages
     * @param input the layout of the input, its channels last in memory
     */
    public static Gather of(String layer, WindowGeometry geometry, Layout input) {
        Gather copies = new Gather(layer + ": windows of " + input + ", with " + geometry);
        long[] extents = input.extents();
        long bytes = input.shape()[1] * input.type().width();
        for (long example = 0; example < input.shape()[0]; example++) {
            long first = example * number(extents);
            for (long window = 0; window < geometry.windows(); window++) {
                for (long covered = 0; covered < number(geometry.kernel()); covered++) {
                    long position = position(geometry, extents, window, covered);
                    if (position == PADDING) {
                        copies.zeros(bytes);
                    } else {
                        copies.copy((first + position) * bytes, bytes);
                    }
                }
            }
        }
        return copies;
    }

    /**
     * Returns what copies every so many-th position.
     *
     * @param what the layer, for error messages
     * @param layout that of the positions, channels last in memory
     */
    public static Gather of(String what, List<Long> every, Layout layout) {
        return of(what, WindowGeometry.positions(layout.extents(), every), layout);
    }

    private static long number(long... extents) {
        return Arrays.stream(extents).reduce(1, (a, b) -> a * b);
    }

    /** Returns the position in an example that a window covers, all counted with the last axis running fastest. */
    private static long position(WindowGeometry geometry, long[] extents, long window, long covered) {
        long position = 0;
        long step = 1;
        long windowsLeft = window;
        long coveredLeft = covered;
        for (int axis = extents.length - 1; axis >= 0; axis--) {
            WindowGeometry.Axis of = geometry.axes().get(axis);
            long at =
                    windowsLeft % of.output() * of.stride() + coveredLeft % of.kernel() * (of.gap() + 1) - of.before();
            if (at < 0 || at >= extents[axis]) {
                return PADDING;
            }
            windowsLeft /= of.output();
            coveredLeft /= of.kernel();
            position += at * step;
            step *= extents[axis];
        }
        return position;
    }
}
