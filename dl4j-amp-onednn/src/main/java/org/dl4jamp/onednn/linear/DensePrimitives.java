package org.dl4jamp.onednn.linear;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.inner_product_backward_data;
import org.bytedeco.dnnl.inner_product_backward_weights;
import org.bytedeco.dnnl.inner_product_forward;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;

/** oneDNN's inner product. */
public class DensePrimitives implements ProductPrimitives<inner_product_forward.primitive_desc> {
    private final boolean keepsWeights;

    /** @param keepsWeights whether weights are arranged once, and for forward passes alone */
    DensePrimitives(boolean keepsWeights) {
        this.keepsWeights = keepsWeights;
    }

    @Override
    public String name() {
        return "inner product";
    }

    /**
     * Returns oneDNN's own order if its copy is made once. It saves up to half of the time. In training a plain matrix
     * is as fast, because nothing has to be reordered.
     */
    @Override
    public memory.desc weights(DataType type, Layout network) {
        return keepsWeights
                ? ProductPrimitives.super.weights(type, network)
                : Layout.dense(type, network.shape()).descriptor();
    }

    @Override
    public boolean areByRows(Layout input) {
        return input.shape().length == 2;
    }

    /** Returns what it's for. For training oneDNN's own order is a plain matrix, which backward passes read, too. */
    private dnnl.prop_kind purpose() {
        return keepsWeights ? dnnl.prop_kind.forward_inference : dnnl.prop_kind.forward_training;
    }

    @Override
    public inner_product_forward.primitive_desc forward(
            memory.desc input, memory.desc weights, memory.desc bias, memory.desc output, primitive_attr attributes) {
        return new inner_product_forward.primitive_desc(
                OneDnnContext.cpu(), purpose(), input, weights, bias, output, attributes, false);
    }

    @Override
    public primitive_desc backwardData(
            memory.desc input,
            memory.desc weights,
            memory.desc output,
            inner_product_forward.primitive_desc hint,
            primitive_attr attributes) {
        return new inner_product_backward_data.primitive_desc(
                OneDnnContext.cpu(), input, weights, output, hint, attributes, false);
    }

    @Override
    public primitive_desc backwardWeights(
            memory.desc input,
            memory.desc weights,
            memory.desc bias,
            memory.desc output,
            inner_product_forward.primitive_desc hint,
            primitive_attr attributes) {
        return new inner_product_backward_weights.primitive_desc(
                OneDnnContext.cpu(), input, weights, bias, output, hint, attributes, false);
    }
}
