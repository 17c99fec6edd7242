package org.dl4jamp.onednn.linear;

import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.pooling.WindowGeometry;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * A convolution in inference as the inner product of the weights and a matrix with a row for each window, which is a
 * copy of the numbers under it.
 */
final class WindowPrimitives extends DensePrimitives {
    /** With more windows than this it takes longer to copy their numbers. */
    private static final long MOST_WINDOWS = 16;

    /** With fewer weights oneDNN's convolution is as fast. */
    private static final long FEWEST_WEIGHTS = 1 << 20;

    private final WindowGeometry geometry;

    WindowPrimitives(WindowGeometry geometry) {
        super(true);
        this.geometry = geometry;
    }

    /**
     * Returns whether it's faster than oneDNN's convolution, by weights that are arranged once: for few windows over
     * many channels. Most of the time passes while weights come from memory. In FP32 with AVX-512 it takes 0.65 of the
     * convolution's time, copies included, for 16 windows of 512 channels (measured on a Zen 5). In BFLOAT16 it takes
     * as long, and with AVX2 1.5 times as long.
     *
     * @param weights how many numbers they are
     */
    static boolean suit(WindowGeometry geometry, Layout input, long weights) {
        return input.type() == DataType.FLOAT
                && OneDnnLibrary.hasAvx512()
                && !geometry.isPointwise()
                && input.equals(Layout.channelsLast(input.type(), input.shape()))
                && input.shape()[0] * geometry.windows() <= MOST_WINDOWS
                && weights >= FEWEST_WEIGHTS;
    }

    @Override
    public String name() {
        return "product of the windows of a convolution with " + geometry;
    }

    @Override
    public InputSamples samples(OneDnnContext context, String layer, Layout input) {
        return InputSamples.windows(context, layer, geometry, input);
    }

    @Override
    public boolean areByRows(Layout input) {
        return false;
    }

    @Override
    public Layout seen(Layout layout) {
        return layout.asMatrix();
    }

    @Override
    public Layout seenSamples(Layout samples) {
        return samples;
    }

    @Override
    public Layout seenWeights(Layout weights) {
        return weights;
    }
}
