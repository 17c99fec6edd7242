package org.dl4jamp.onednn.linear;

import org.bytedeco.dnnl.convolution_backward_data;
import org.bytedeco.dnnl.convolution_backward_weights;
import org.bytedeco.dnnl.convolution_forward;
import org.bytedeco.dnnl.deconvolution_backward_data;
import org.bytedeco.dnnl.deconvolution_backward_weights;
import org.bytedeco.dnnl.deconvolution_forward;
import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;

/**
 * oneDNN's convolution or deconvolution. They are two classes with the same constructors.
 *
 * @param multiplies whether it multiplies windows: its fast kernels then read from the wrong places of some arrays
 */
record ConvolutionKind<F extends primitive_desc>(
        String name,
        dnnl.algorithm method,
        Forward<F> forward,
        BackwardData<F> backwardData,
        BackwardWeights<F> backwardWeights,
        boolean multiplies) {
    static final ConvolutionKind<convolution_forward.primitive_desc> CONVOLUTION = new ConvolutionKind<>(
            "convolution",
            dnnl.algorithm.convolution_direct,
            convolution_forward.primitive_desc::new,
            convolution_backward_data.primitive_desc::new,
            convolution_backward_weights.primitive_desc::new,
            true);
    static final ConvolutionKind<deconvolution_forward.primitive_desc> DECONVOLUTION = new ConvolutionKind<>(
            "deconvolution",
            dnnl.algorithm.deconvolution_direct,
            deconvolution_forward.primitive_desc::new,
            deconvolution_backward_data.primitive_desc::new,
            deconvolution_backward_weights.primitive_desc::new,
            false);

    /** A constructor of oneDNN's. */
    interface Forward<F> {
        F make(
                engine cpu,
                dnnl.prop_kind purpose,
                dnnl.algorithm method,
                memory.desc input,
                memory.desc weights,
                memory.desc bias,
                memory.desc output,
                long[] strides,
                long[] gaps,
                long[] before,
                long[] after,
                primitive_attr attributes,
                boolean allowEmpty);
    }

    /** A constructor of oneDNN's. */
    interface BackwardData<F> {
        primitive_desc make(
                engine cpu,
                dnnl.algorithm method,
                memory.desc input,
                memory.desc weights,
                memory.desc output,
                long[] strides,
                long[] gaps,
                long[] before,
                long[] after,
                F hint,
                primitive_attr attributes,
                boolean allowEmpty);
    }

    /** A constructor of oneDNN's. */
    interface BackwardWeights<F> {
        primitive_desc make(
                engine cpu,
                dnnl.algorithm method,
                memory.desc input,
                memory.desc weights,
                memory.desc bias,
                memory.desc output,
                long[] strides,
                long[] gaps,
                long[] before,
                long[] after,
                F hint,
                primitive_attr attributes,
                boolean allowEmpty);
    }
}
