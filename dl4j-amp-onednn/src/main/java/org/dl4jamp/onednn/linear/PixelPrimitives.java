package org.dl4jamp.onednn.linear;

import java.util.Arrays;
import java.util.Optional;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.pooling.WindowGeometry;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * A convolution as the inner product of the weights and a matrix with a row for each window. Of a pointwise convolution
 * without padding a row has the channels of a position. It reads the weights as they are; oneDNN's convolution reorders
 * them, and their gradient. Of larger windows, in forward passes alone, the rows are copies.
 */
final class PixelPrimitives extends DensePrimitives {
    /**
     * With more positions than this the convolution gains more from its order than the copies cost (measured on a Zen
     * 4).
     */
    private static final long MOST_PIXELS = 1024;

    /** The same for weights that are arranged once, in the positions of one image: whatever the minibatch. */
    private static final long MOST_POSITIONS = 256;

    /** With fewer weights oneDNN's inner product doesn't use the widest registers. */
    private static final long FEWEST_WEIGHTS = 1 << 14;

    /** With more windows than this it takes longer to copy their numbers. */
    private static final long MOST_WINDOWS = 16;

    /** With fewer weights oneDNN's convolution is as fast. */
    private static final long FEWEST_WEIGHTS_OF_WINDOWS = 1 << 20;

    private final WindowGeometry geometry;

    /** @param keepsWeights whether weights are arranged once, and for forward passes alone */
    PixelPrimitives(WindowGeometry geometry, boolean keepsWeights) {
        super(keepsWeights);
        this.geometry = geometry;
    }

    /** Returns whether this is possible, and faster than oneDNN's convolution, which is slow with strides. */
    static boolean suit(WindowGeometry geometry, long minibatch) {
        return isPointwise(geometry) && (isStrided(geometry) || minibatch * positions(geometry) <= MOST_PIXELS);
    }

    /**
     * Returns the same for {@code weights} numbers that are arranged once.
     *
     * @param isAvx2 whether the CPU has AVX2, and no AVX-512: then a convolution isn't slower
     */
    static boolean suitKept(WindowGeometry geometry, long weights, boolean isAvx2) {
        return !isAvx2
                && isPointwise(geometry)
                && weights >= FEWEST_WEIGHTS
                && (isStrided(geometry) || positions(geometry) <= MOST_POSITIONS);
    }

    /**
     * Returns whether gradients of the weights are possible so, and not slower than oneDNN's convolution. With AVX2
     * they take 0.5 to 1 of its time (measured on a Zen 3), with older instructions as long.
     */
    static boolean suitGradients(WindowGeometry geometry) {
        return OneDnnLibrary.isAvx2() && isPointwise(geometry) && !isStrided(geometry);
    }

    /**
     * Returns whether a single channel is made in FP32. oneDNN's convolution computes as many channels as a register
     * holds. Its product takes 0.2 to 0.7 of the time, with AVX-512 and with AVX2 (measured on a Zen 4). In BFLOAT16
     * both take as long.
     */
    static boolean suitSingle(WindowGeometry geometry, long made, DataType type) {
        return made == 1 && type == DataType.FLOAT && isPointwise(geometry) && !isStrided(geometry);
    }

    /**
     * Returns whether a few windows over many channels are multiplied faster as rows, by weights that are arranged
     * once. Most of the time passes while weights come from memory. In FP32 with AVX-512 the product, copies included,
     * takes 0.65 of the convolution's time for 16 windows of 512 channels (measured on a Zen 5). In BFLOAT16 it takes
     * as long, and with AVX2 1.5 times as long.
     *
     * @param weights how many numbers they are
     */
    static boolean suitWindows(WindowGeometry geometry, Layout input, long weights) {
        return input.type() == DataType.FLOAT
                && OneDnnLibrary.hasAvx512()
                && !isPointwise(geometry)
                && input.equals(Layout.channelsLast(input.type(), input.shape()))
                && input.shape()[0] * positions(geometry) <= MOST_WINDOWS
                && weights >= FEWEST_WEIGHTS_OF_WINDOWS;
    }

    static boolean isPointwise(WindowGeometry geometry) {
        return geometry.isPointwise();
    }

    private static long positions(WindowGeometry geometry) {
        return Arrays.stream(geometry.output()).reduce(1, (a, b) -> a * b);
    }

    static boolean isStrided(WindowGeometry geometry) {
        return geometry.axes().stream().anyMatch(axis -> axis.stride() > 1);
    }

    @Override
    public String name() {
        return (isPointwise(geometry) ? "product of the pixels" : "product of the windows") + " of a convolution with "
                + geometry;
    }

    @Override
    public InputSamples samples(OneDnnContext context, String layer, Layout input) {
        if (!isPointwise(geometry)) {
            return InputSamples.windows(context, layer, geometry, input);
        }
        return isStrided(geometry) ? InputSamples.under(context, layer, geometry, input) : InputSamples.all(input);
    }

    @Override
    public boolean areByRows(Layout input) {
        return isPointwise(geometry) && !isStrided(geometry);
    }

    @Override
    public Optional<WindowGeometry> windows() {
        return isPointwise(geometry) ? Optional.of(geometry.withoutSteps()) : Optional.empty();
    }

    @Override
    public PixelPrimitives over(WindowGeometry windows) {
        return new PixelPrimitives(windows, true);
    }

    @Override
    public Layout seen(Layout layout) {
        return layout.asMatrix();
    }

    @Override
    public Layout seenSamples(Layout samples) {
        return isPointwise(geometry) ? seen(samples) : samples;
    }

    @Override
    public Layout seenWeights(Layout weights) {
        return isPointwise(geometry) ? seen(weights) : weights;
    }
}
