package org.dl4jamp.onednn;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.pooling_backward;
import org.bytedeco.dnnl.pooling_forward;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Maximum or average of windows, for one shape. */
final class PoolingKernels implements AutoCloseable {
    private final Kernel forward;
    private final Kernel backward;
    private final memory places;
    private final long[] outputShape;

    private PoolingKernels(
            OneDnnContext context, String what, dnnl.algorithm kind, WindowGeometry geometry, Layout in, Layout out) {
        memory.desc input = in.descriptor();
        memory.desc output = out.descriptor();
        pooling_forward.primitive_desc first = new pooling_forward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.prop_kind.forward_training,
                kind,
                input,
                output,
                geometry.strides(),
                geometry.kernel(),
                geometry.gaps(),
                geometry.before(),
                geometry.after(),
                OneDnnContext.attributes(),
                false);
        pooling_backward.primitive_desc back = new pooling_backward.primitive_desc(
                OneDnnContext.cpu(),
                kind,
                input,
                output,
                geometry.strides(),
                geometry.kernel(),
                geometry.gaps(),
                geometry.before(),
                geometry.after(),
                first,
                OneDnnContext.attributes(),
                false);
        forward = new Kernel(context, what, first, new pooling_forward(first))
                .argument(dnnl.DNNL_ARG_SRC, input)
                .argument(dnnl.DNNL_ARG_DST, output);
        backward = new Kernel(context, what + ", backward", back, new pooling_backward(back))
                .argument(dnnl.DNNL_ARG_DIFF_DST, output)
                .argument(dnnl.DNNL_ARG_DIFF_SRC, input);
        outputShape = out.shape();
        if (kind == dnnl.algorithm.pooling_max) {
            places = new memory(first.workspace_desc(), OneDnnContext.cpu()).retainReference();
            forward.argument(dnnl.DNNL_ARG_WORKSPACE, places);
            backward.argument(dnnl.DNNL_ARG_WORKSPACE, places);
        } else {
            places = null;
        }
    }

    static PoolingKernels make(
            OneDnnContext context,
            String layer,
            dnnl.algorithm kind,
            WindowGeometry geometry,
            DataType type,
            long[] input) {
        Layout in = Layout.channelsLast(type, input);
        Layout out = Layout.channelsLast(type, input[0], input[1], geometry.output()[0], geometry.output()[1]);
        String what = layer + ": " + kind + " with " + geometry + " of " + in;
        return OneDnnContext.make(what, () -> new PoolingKernels(context, what, kind, geometry, in, out));
    }

    /** A copy of the output's shape. */
    long[] outputShape() {
        return outputShape.clone();
    }

    void forward(INDArray input, INDArray output) {
        forward.bind(dnnl.DNNL_ARG_SRC, input).bind(dnnl.DNNL_ARG_DST, output).run();
    }

    /** The backward pass of the last {@link #forward}, whose maxima have left their places here. */
    void backward(INDArray epsilon, INDArray inputGradient) {
        backward.bind(dnnl.DNNL_ARG_DIFF_DST, epsilon)
                .bind(dnnl.DNNL_ARG_DIFF_SRC, inputGradient)
                .run();
    }

    /** Whether the backward pass needs the forward pass to come right before it. */
    boolean remembersPlaces() {
        return places != null;
    }

    @Override
    public void close() {
        forward.close();
        backward.close();
        if (places != null) {
            places.releaseReference();
        }
    }
}
