package org.dl4jamp.onednn.product;

import org.bytedeco.dnnl.convolution_backward_data;
import org.bytedeco.dnnl.convolution_backward_weights;
import org.bytedeco.dnnl.convolution_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.WindowGeometry;

/**
 * oneDNN's convolution, grouped if the weights have an axis for it.
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
        return new convolution_forward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.prop_kind.forward_training,
                ALGORITHM,
                input,
                weights,
                bias,
                output,
                geometry.strides(),
                geometry.gaps(),
                geometry.before(),
                geometry.after(),
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
        return new convolution_backward_data.primitive_desc(
                OneDnnContext.cpu(),
                ALGORITHM,
                input,
                weights,
                output,
                geometry.strides(),
                geometry.gaps(),
                geometry.before(),
                geometry.after(),
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
        primitive_desc gradient = new convolution_backward_weights.primitive_desc(
                OneDnnContext.cpu(),
                ALGORITHM,
                input,
                weights,
                bias,
                output,
                geometry.strides(),
                geometry.gaps(),
                geometry.before(),
                geometry.after(),
                hint,
                attributes,
                false);
        return geometry.isBeyondFastGradients() ? OneDnnContext.withoutGeneratedCode(gradient) : gradient;
    }
}
