package org.dl4jamp.onednn.linear;

import java.util.Optional;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.pooling.SideBySide;
import org.dl4jamp.onednn.pooling.WindowGeometry;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * The three primitives of a layer that multiplies its input by weights. A bias without shape means that there is none.
 *
 * @param <F> oneDNN's description of the forward primitive, which the others take as a hint
 */
interface ProductPrimitives<F extends primitive_desc> {
    String name();

    /** Returns the numbers of the input that are multiplied. */
    default InputSamples samples(OneDnnContext context, String layer, Layout input) {
        return InputSamples.all(input);
    }

    /** Returns how the primitives describe input, weights and output: the same memory, perhaps with fewer axes. */
    default Layout seen(Layout layout) {
        return layout;
    }

    /** Returns how the primitives describe the numbers of the input that are multiplied. */
    default Layout seenSamples(Layout samples) {
        return seen(samples);
    }

    /** Returns whether each position of each example is multiplied by itself, however many there are. */
    default boolean areByRows(Layout input) {
        return false;
    }

    /** Returns the windows over the numbers that are multiplied; empty if the output isn't made of windows' sums. */
    default Optional<WindowGeometry> windows() {
        return Optional.empty();
    }

    /** Returns the primitives for other {@link #windows} with the same weights. */
    default ProductPrimitives<F> over(WindowGeometry windows) {
        throw new UnsupportedOperationException(name() + " has no windows");
    }

    /** Returns how the primitives describe the network's weights. */
    default Layout seenWeights(Layout weights) {
        return seen(weights);
    }

    /**
     * Returns the copy of the output that the primitives write; empty if they write it in place.
     *
     * @param input the layout of the input
     */
    default Optional<SideBySide> written(OneDnnContext context, String layer, Layout output, Layout input) {
        return Optional.empty();
    }

    /**
     * Returns the layout in which the primitives read the weights and write their gradients.
     *
     * @param type the type of the weights
     * @param network the layout of the network's weights, as the primitives describe it
     */
    default memory.desc weights(DataType type, Layout network) {
        return Layout.any(type, network.shape());
    }

    /** Returns the primitives that compute the weights' gradients, of the same input and output. */
    default ProductPrimitives<?> gradients() {
        return this;
    }

    F forward(memory.desc input, memory.desc weights, memory.desc bias, memory.desc output, primitive_attr attributes);

    primitive_desc backwardData(
            memory.desc input, memory.desc weights, memory.desc output, F hint, primitive_attr attributes);

    primitive_desc backwardWeights(
            memory.desc input,
            memory.desc weights,
            memory.desc bias,
            memory.desc output,
            F hint,
            primitive_attr attributes);
}
