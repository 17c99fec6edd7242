package org.dl4jamp.onednn.linear;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.WindowGeometry;

/**
 * oneDNN's convolution, grouped if the weights have an axis for it, or its deconvolution.
 *
 * @param overPadding whether no window covers a number of the input; the geometry is then one over padding
 */
record ConvolutionPrimitives<F extends primitive_desc>(
        ConvolutionKind<F> kind, WindowGeometry geometry, boolean overPadding) implements ProductPrimitives<F> {
    @Override
    public String name() {
        return kind.name() + " with " + geometry;
    }

    @Override
    public InputSamples samples(OneDnnContext context, String layer, Layout input) {
        return overPadding ? InputSamples.padding(context, geometry, input) : InputSamples.all(input);
    }

    @Override
    public F forward(
            memory.desc input, memory.desc weights, memory.desc bias, memory.desc output, primitive_attr attributes) {
        F product = kind.forward()
                .make(
                        OneDnnContext.cpu(),
                        dnnl.prop_kind.forward_training,
                        kind.method(),
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
        if (kind.multiplies() && input.get_dims().get(1) == 1 && geometry.isBeyondFastSingleChannel()) {
            OneDnnContext.withoutGeneratedCode(product);
        }
        return product;
    }

    @Override
    public primitive_desc backwardData(
            memory.desc input, memory.desc weights, memory.desc output, F hint, primitive_attr attributes) {
        return kind.backwardData()
                .make(
                        OneDnnContext.cpu(),
                        kind.method(),
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
            F hint,
            primitive_attr attributes) {
        primitive_desc gradient = kind.backwardWeights()
                .make(
                        OneDnnContext.cpu(),
                        kind.method(),
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
        return kind.multiplies() && geometry.isBeyondFastGradients()
                ? OneDnnContext.withoutGeneratedCode(gradient)
                : gradient;
    }
}
