package org.dl4jamp.onednn.pooling;

import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.pooling_backward;
import org.bytedeco.dnnl.pooling_forward;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Positions;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Maximum or average of windows, for one shape. */
public final class PoolingKernels implements AutoCloseable {
    private final Kernel forward;
    /** The forward pass that doesn't tell where maxima are. */
    private final Kernel inference;

    private final Kernel backward;
    /** Inference at some positions alone; null if there is nothing to compute. */
    private final PartialPooling parts;

    private final long placesBytes;
    private final long[] outputShape;

    private PoolingKernels(
            OneDnnContext context,
            String what,
            dnnl.algorithm kind,
            WindowGeometry geometry,
            DataType sums,
            Layout in,
            Layout out) {
        memory.desc input = in.descriptor();
        memory.desc output = out.descriptor();
        memory.desc inputGradient = in.as(sums).descriptor();
        memory.desc outputGradient = out.as(sums).descriptor();
        dnnl.prop_kind training = dnnl.prop_kind.forward_training;
        pooling_forward.primitive_desc first = forward(training, kind, geometry, input, output);
        pooling_backward.primitive_desc back = new pooling_backward.primitive_desc(
                OneDnnContext.cpu(),
                kind,
                inputGradient,
                outputGradient,
                geometry.strides(),
                geometry.kernel(),
                geometry.gaps(),
                geometry.before(),
                geometry.after(),
                sums == in.type() ? first : forward(training, kind, geometry, inputGradient, outputGradient),
                OneDnnContext.attributes(),
                false);
        forward = new Kernel(context, what, first);
        inference = kind == dnnl.algorithm.pooling_max
                ? new Kernel(
                        context,
                        what + " in inference",
                        forward(dnnl.prop_kind.forward_inference, kind, geometry, input, output))
                : forward;
        if (in.equals(Layout.channelsLast(in.type(), in.shape())) && geometry.eachCoversNumbers()) {
            parts = geometry.isPointwise() ? null : new PartialPooling(context, what, kind, geometry, in, out);
            inference.at(new Positions(in, out, geometry.steps(), geometry.isPointwise(), Optional.ofNullable(parts)));
        } else {
            parts = null;
        }
        backward = new Kernel(context, what + ", backward", back);
        outputShape = out.shape();
        placesBytes =
                kind == dnnl.algorithm.pooling_max ? first.workspace_desc().get_size() : 0;
    }

    static pooling_forward.primitive_desc forward(
            dnnl.prop_kind purpose,
            dnnl.algorithm kind,
            WindowGeometry geometry,
            memory.desc input,
            memory.desc output) {
        return new pooling_forward.primitive_desc(
                OneDnnContext.cpu(),
                purpose,
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
    }

    /** Makes the kernels for the layout of an input, its channels as the second axis. */
    static PoolingKernels make(OneDnnContext context, String layer, PoolingForm form, Layout in) {
        WindowGeometry geometry = form.window().over(in.extents());
        return make(context, layer, form.kind(), geometry, form.addsUpGradients(), in);
    }

    /**
     * Makes the kernels for a shape.
     *
     * @param kind of oneDNN's pooling
     * @param addsUpGradients whether the backward pass adds up several gradients, in FP32
     * @param in the layout of the input, its channels as the second axis
     */
    public static PoolingKernels make(
            OneDnnContext context,
            String layer,
            dnnl.algorithm kind,
            WindowGeometry geometry,
            boolean addsUpGradients,
            Layout in) {
        long[] shape = in.shape();
        Layout out = Layout.channelsLast(in.type(), Workspaces.shape(shape[0], shape[1], geometry.output()));
        String what = layer + ": " + kind + " with " + geometry + " of " + in;
        DataType sums = addsUpGradients ? DataType.FLOAT : in.type();
        return OneDnnContext.make(
                what,
                Work.ofNumbers(in.length()),
                () -> new PoolingKernels(context, what, kind, geometry, sums, in, out));
    }

    /** Returns a copy of the output's shape. */
    public long[] outputShape() {
        return outputShape.clone();
    }

    /** Returns memory for the place of each maximum; null for averages. */
    INDArray places(LayerWorkspaceMgr workspaceMgr, ArrayType where) {
        return placesBytes == 0 ? null : Workspaces.dense(workspaceMgr, where, DataType.UINT8, placesBytes);
    }

    /**
     * Runs the forward pass.
     *
     * @param places takes where each maximum was found, as {@link #places}; null for averages, and for maxima where no
     *     backward pass reads it
     */
    void forward(INDArray input, INDArray output, INDArray places) {
        if (places == null) {
            forward(Place.of(input), Place.of(output));
            return;
        }
        bind(forward, places);
        forward.bind(dnnl.DNNL_ARG_SRC, input).bind(dnnl.DNNL_ARG_DST, output).run();
    }

    /** Runs the forward pass from one place to another, without telling where maxima are. */
    public void forward(Place input, Place output) {
        inference.bind(dnnl.DNNL_ARG_SRC, input).bind(dnnl.DNNL_ARG_DST, output).run();
    }

    private void bind(Kernel kernel, INDArray places) {
        if (placesBytes > 0) {
            kernel.bind(dnnl.DNNL_ARG_WORKSPACE, places);
        }
    }

    /**
     * Runs the backward pass. Arrays are FP32 if {@linkplain PoolingForm#addsUpGradients gradients are added up}.
     *
     * @param places those of the forward pass; null for averages
     */
    void backward(INDArray epsilon, INDArray inputGradient, INDArray places) {
        bind(backward, places);
        backward(Place.of(epsilon), Place.of(inputGradient));
    }

    /** Runs the backward pass of averages, from one place to another. */
    public void backward(Place epsilon, Place inputGradient) {
        backward.bind(dnnl.DNNL_ARG_DIFF_DST, epsilon)
                .bind(dnnl.DNNL_ARG_DIFF_SRC, inputGradient)
                .run();
    }

    @Override
    public void close() {
        forward.close();
        if (inference != forward) {
            inference.close();
        }
        backward.close();
        if (parts != null) {
            parts.close();
        }
    }
}
