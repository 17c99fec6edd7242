package org.dl4jamp.onednn;

import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;

/**
 * The three primitives of a layer that multiplies its input by weights. A bias without shape means that there is none.
 *
 * @param <F> oneDNN's description of the forward primitive, which the others take as a hint
 */
interface ProductPrimitives<F extends primitive_desc> {
    /** For error messages. */
    String name();

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
