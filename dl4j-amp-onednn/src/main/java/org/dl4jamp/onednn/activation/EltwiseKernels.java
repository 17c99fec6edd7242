package org.dl4jamp.onednn.activation;

import org.bytedeco.dnnl.eltwise_backward;
import org.bytedeco.dnnl.eltwise_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.ndarray.INDArray;

/** An activation function, and its derivative from its input, for one layout of input and output. */
public final class EltwiseKernels implements AutoCloseable {
    private final Kernel forward;
    private final Kernel backward;

    private EltwiseKernels(Kernel forward, Kernel backward) {
        this.forward = forward;
        this.backward = backward;
    }

    public static EltwiseKernels make(OneDnnContext context, String layer, Eltwise eltwise, Layout layout) {
        String what = layer + ": " + eltwise.function() + " of " + layout;
        return OneDnnContext.make(what, Work.ofNumbers(layout.length()), () -> {
            memory.desc array = layout.descriptor();
            eltwise_forward.primitive_desc forward = new eltwise_forward.primitive_desc(
                    OneDnnContext.cpu(),
                    dnnl.prop_kind.forward_training,
                    eltwise.function(),
                    array,
                    array,
                    eltwise.alpha(),
                    eltwise.beta(),
                    OneDnnContext.attributes(),
                    false);
            eltwise_backward.primitive_desc backward = new eltwise_backward.primitive_desc(
                    OneDnnContext.cpu(),
                    eltwise.function(),
                    array,
                    array,
                    array,
                    eltwise.alpha(),
                    eltwise.beta(),
                    forward,
                    OneDnnContext.attributes(),
                    false);
            return new EltwiseKernels(
                    new Kernel(context, what, forward, new eltwise_forward(forward))
                            .argument(dnnl.DNNL_ARG_SRC, array)
                            .argument(dnnl.DNNL_ARG_DST, array),
                    new Kernel(context, what + ", backward", backward, new eltwise_backward(backward))
                            .argument(dnnl.DNNL_ARG_SRC, array)
                            .argument(dnnl.DNNL_ARG_DIFF_DST, array)
                            .argument(dnnl.DNNL_ARG_DIFF_SRC, array));
        });
    }

    public void forward(INDArray input, INDArray output) {
        forward.bind(dnnl.DNNL_ARG_SRC, input).bind(dnnl.DNNL_ARG_DST, output).run();
    }

    public void backward(INDArray input, INDArray epsilon, INDArray inputGradient) {
        backward.bind(dnnl.DNNL_ARG_SRC, input)
                .bind(dnnl.DNNL_ARG_DIFF_DST, epsilon)
                .bind(dnnl.DNNL_ARG_DIFF_SRC, inputGradient)
                .run();
    }

    @Override
    public void close() {
        forward.close();
        backward.close();
    }
}
