package org.dl4jamp.onednn.linear;

import java.util.List;
import org.bytedeco.dnnl.memory;
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

    /** The orders of weights of windows along one, two and three axes, in blocks of 32 outputs. */
    private static final List<memory.format_tag> ORDERS =
            List.of(memory.format_tag.AcB16b32a, memory.format_tag.AcdB16b32a, memory.format_tag.AcdeB16b32a);

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

    /**
     * Returns the order for which oneDNN multiplies the most windows by weights at once. While it multiplies the others
     * by the same weights, none come from memory. It takes 0.92 of the time that oneDNN's own choice takes, blocks of
     * 64 outputs (measured on a Zen 5).
     */
    @Override
    public memory.desc weights(DataType type, Layout network) {
        return Layout.inOrder(ORDERS.get(geometry.axes().size() - 1), type, network.shape());
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
