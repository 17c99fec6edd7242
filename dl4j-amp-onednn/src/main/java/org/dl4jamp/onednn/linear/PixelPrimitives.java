package org.dl4jamp.onednn.linear;

import java.util.Optional;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.pooling.WindowGeometry;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.nd4j.linalg.api.buffer.DataType;

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

    /** The same for weights that are arranged once, in the positions of one image: whatever the minibatch. */
    private static final long MOST_POSITIONS = 256;

    /** With fewer weights oneDNN's inner product doesn't use the widest registers. */
    private static final long FEWEST_WEIGHTS = 1 << 14;

    private final WindowGeometry geometry;

    /** @param keepsWeights whether weights are arranged once, and for forward passes alone */
    PixelPrimitives(WindowGeometry geometry, boolean keepsWeights) {
        super(keepsWeights);
        this.geometry = geometry;
    }

    /** Returns whether this is possible, and faster than oneDNN's convolution, which is slow with strides. */
    static boolean suit(WindowGeometry geometry, long minibatch) {
        return geometry.isPointwise() && (isStrided(geometry) || minibatch * geometry.windows() <= MOST_PIXELS);
    }

    /**
     * Returns the same for {@code weights} numbers that are arranged once.
     *
     * @param isAvx2 whether the CPU has AVX2, and no AVX-512: then a convolution isn't slower
     */
    static boolean suitKept(WindowGeometry geometry, long weights, boolean isAvx2) {
        return !isAvx2
                && geometry.isPointwise()
                && weights >= FEWEST_WEIGHTS
                && (isStrided(geometry) || geometry.windows() <= MOST_POSITIONS);
    }

    /**
     * Returns whether gradients of the weights are possible so, and not slower than oneDNN's convolution. With AVX2
     * they take 0.5 to 1 of its time (measured on a Zen 3), with older instructions as long.
     */
    static boolean suitGradients(WindowGeometry geometry) {
        return OneDnnLibrary.isAvx2() && geometry.isPointwise() && !isStrided(geometry);
    }

    /**
     * Returns whether a single channel is made in FP32. oneDNN's convolution computes as many channels as a register
     * holds. Its product takes 0.2 to 0.7 of the time, with AVX-512 and with AVX2 (measured on a Zen 4). In BFLOAT16
     * both take as long.
     */
    static boolean suitSingle(WindowGeometry geometry, long made, DataType type) {
        return made == 1 && type == DataType.FLOAT && geometry.isPointwise() && !isStrided(geometry);
    }

    static boolean isStrided(WindowGeometry geometry) {
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
    public boolean areByRows(Layout input) {
        return !isStrided(geometry);
    }

    @Override
    public Optional<WindowGeometry> windows() {
        return Optional.of(geometry.withoutSteps());
    }

    @Override
    public PixelPrimitives over(WindowGeometry windows) {
        return new PixelPrimitives(windows, true);
    }

    @Override
    public Layout seen(Layout layout) {
        return layout.asMatrix();
    }
}
