package org.dl4jamp.onednn;

import org.bytedeco.dnnl.convolution_backward_data;
import org.bytedeco.dnnl.convolution_backward_weights;
import org.bytedeco.dnnl.convolution_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;

/**
 * oneDNN's convolution.
 *
 * @param geometry kernel, stride, padding and dilation
 */
record ConvolutionPrimitives(WindowGeometry geometry) implements ProductPrimitives<convolution_forward.primitive_desc> {
    private static final dnnl.algorithm ALGORITHM = dnnl.algorithm.convolution_direct;

    @Override
    public String name() {
        return "convolution with " + geometry;
    }

    @Override
    public convolution_forward.primitive_desc forward(
            memory.desc input, memory.desc weights, memory.desc bias, memory.desc output, primitive_attr attributes) {
        dnnl.prop_kind training = dnnl.prop_kind.forward_training;
        WindowGeometry g = geometry;
        return bias == null
                ? new convolution_forward.primitive_desc(
                        OneDnnContext.cpu(),
                        training,
                        ALGORITHM,
                        input,
                        weights,
                        output,
                        g.strides(),
                        g.gaps(),
                        g.before(),
                        g.after(),
                        attributes,
                        false)
                : new convolution_forward.primitive_desc(
                        OneDnnContext.cpu(),
                        training,
                        ALGORITHM,
                        input,
                        weights,
                        bias,
                        output,
                        g.strides(),
                        g.gaps(),
                        g.before(),
                        g.after(),
                        attributes,
                        false);
    }

    @Override
    public primitive_desc backwardData(
            memory.desc input,
            memory.desc weights,
            memory.desc output,
            convolution_forward.primitive_desc hint,
            primitive_attr attributes) {
        WindowGeometry g = geometry;
        return new convolution_backward_data.primitive_desc(
                OneDnnContext.cpu(),
                ALGORITHM,
                input,
                weights,
                output,
                g.strides(),
                g.gaps(),
                g.before(),
                g.after(),
                hint,
                attributes,
                false);
    }

    @Override
    public primitive_desc backwardWeights(
            memory.desc input,
            memory.desc weights,
            memory.desc bias,
            memory.desc output,
            convolution_forward.primitive_desc hint,
            primitive_attr attributes) {
        WindowGeometry g = geometry;
        return bias == null
                ? new convolution_backward_weights.primitive_desc(
                        OneDnnContext.cpu(),
                        ALGORITHM,
                        input,
                        weights,
                        output,
                        g.strides(),
                        g.gaps(),
                        g.before(),
                        g.after(),
                        hint,
                        attributes,
                        false)
                : new convolution_backward_weights.primitive_desc(
                        OneDnnContext.cpu(),
                        ALGORITHM,
                        input,
                        weights,
                        bias,
                        output,
                        g.strides(),
                        g.gaps(),
                        g.before(),
                        g.after(),
                        hint,
                        attributes,
                        false);
    }
}
