package org.dl4jamp.onednn;

import java.util.Arrays;
import org.bytedeco.dnnl.inner_product_forward;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * A convolution whose window sees one position, without padding: the inner product of a matrix with a row of channels for each position. It
 * takes the weights as they are, while oneDNN's convolution has them, and their gradient, in an order of its own.
 *
 * @param geometry the window
 */
record PixelPrimitives(WindowGeometry geometry) implements ProductPrimitives<inner_product_forward.primitive_desc> {
    /** With more positions than this the convolution gains more from its order than the copies cost (measured on a Zen 4). */
    private static final long MOST_PIXELS = 1024;

    private static final DensePrimitives PRODUCT = new DensePrimitives();

    /** Whether this is possible, and faster than oneDNN's convolution, which is slow with strides. */
    static boolean suit(WindowGeometry geometry, long minibatch) {
        boolean onePosition = Arrays.stream(geometry.kernel()).allMatch(size -> size == 1)
                && Arrays.stream(geometry.before()).allMatch(padding -> padding == 0)
                && Arrays.stream(geometry.after()).allMatch(padding -> padding == 0);
        long pixels = minibatch * Arrays.stream(geometry.output()).reduce(1, (a, b) -> a * b);
        return onePosition && (isStrided(geometry) || pixels <= MOST_PIXELS);
    }

    private static boolean isStrided(WindowGeometry geometry) {
        return Arrays.stream(geometry.strides()).anyMatch(stride -> stride > 1);
    }

    @Override
    public String name() {
        return "product of the pixels of a convolution with " + geometry;
    }

    @Override
    public Samples samples(OneDnnContext context, String layer, Layout input) {
        return isStrided(geometry) ? Samples.of(context, layer, geometry, input) : Samples.all(input);
    }

    @Override
    public Layout seen(Layout layout) {
        return layout.asMatrix();
    }

    @Override
    public memory.desc weights(DataType type, Layout network) {
        return PRODUCT.weights(type, network);
    }

    @Override
    public inner_product_forward.primitive_desc forward(
            memory.desc input, memory.desc weights, memory.desc bias, memory.desc output, primitive_attr attributes) {
        return PRODUCT.forward(input, weights, bias, output, attributes);
    }

    @Override
    public primitive_desc backwardData(
            memory.desc input,
            memory.desc weights,
            memory.desc output,
            inner_product_forward.primitive_desc hint,
            primitive_attr attributes) {
        return PRODUCT.backwardData(input, weights, output, hint, attributes);
    }

    @Override
    public primitive_desc backwardWeights(
            memory.desc input,
            memory.desc weights,
            memory.desc bias,
            memory.desc output,
            inner_product_forward.primitive_desc hint,
            primitive_attr attributes) {
        return PRODUCT.backwardWeights(input, weights, bias, output, hint, attributes);
    }
}
