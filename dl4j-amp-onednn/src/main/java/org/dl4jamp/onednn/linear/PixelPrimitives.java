package org.dl4jamp.onednn.linear;

import java.util.Arrays;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.WindowGeometry;

/**
 * A pointwise convolution without padding: the inner product of a matrix with a row of channels for each position. It
 * reads the weights as they are; oneDNN's convolution reorders them, and their gradient.
 */
final class PixelPrimitives extends DensePrimitives {
    /**
     * With more positions than this the convolution gains more from its order than the copies cost (measured on a Zen
     * 4).
     */
    private static final long MOST_PIXELS = 1024;

    private final WindowGeometry geometry;

    PixelPrimitives(WindowGeometry geometry) {
        super(false);
        this.geometry = geometry;
    }

    /** Returns whether this is possible, and faster than oneDNN's convolution, which is slow with strides. */
    static boolean suit(WindowGeometry geometry, long minibatch) {
        boolean onePosition = geometry.axes().stream()
                .allMatch(axis -> axis.kernel() == 1 && axis.before() == 0 && axis.after() == 0);
        long pixels = minibatch * Arrays.stream(geometry.output()).reduce(1, (a, b) -> a * b);
        return onePosition && (isStrided(geometry) || pixels <= MOST_PIXELS);
    }

    private static boolean isStrided(WindowGeometry geometry) {
        return geometry.axes().stream().anyMatch(axis -> axis.stride() > 1);
    }

    @Override
    public String name() {
        return "product of the pixels of a convolution with " + geometry;
    }

    @Override
    public InputSamples samples(OneDnnContext context, String layer, Layout input) {
        return isStrided(geometry) ? InputSamples.under(context, layer, geometry, input) : InputSamples.all(input);
    }

    @Override
    public Layout seen(Layout layout) {
        return layout.asMatrix();
    }
}
