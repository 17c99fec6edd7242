package org.dl4jamp.onednn.normalization;

import org.bytedeco.dnnl.batch_normalization_backward;
import org.bytedeco.dnnl.batch_normalization_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Batch normalization for one shape: in training, in inference and backward. Statistics and parameters are FP32. With
 * ReLU, training applies it and backward its derivative.
 *
 * <p>oneDNN adds up a channel's numbers one after another, in FP32: of two million, the variance would be off by 4e-4.
 * So the statistics of many come from {@linkplain BatchStatistics slices}.
 */
final class BatchNormKernels implements AutoCloseable {
    /** Parameters and statistics: FP32, contiguous, a number for each channel. */
    record Channels(INDArray gamma, INDArray beta, INDArray mean, INDArray variance) {}

    /** The gradients of the parameters: FP32, contiguous, a number for each channel. */
    record ParameterGradients(INDArray gamma, INDArray beta) {}

    private static final int PARAMETERS = dnnl.dnnl_use_scale | dnnl.dnnl_use_shift;

    private final Kernel training;
    /** Of the training pass; null where oneDNN computes them with it. */
    private final BatchStatistics statistics;

    private final Kernel inference;
    private final Kernel backward;
    private final long maskBytes;

    private BatchNormKernels(OneDnnContext context, String what, Layout layout, float epsilon, boolean relu) {
        memory.desc array = layout.descriptor();
        boolean sliced = BatchStatistics.areSliced(layout);
        int trained = PARAMETERS | (relu ? dnnl.dnnl_fuse_norm_relu : 0);
        int given = trained | (sliced ? dnnl.dnnl_use_global_stats : 0);
        batch_normalization_forward.primitive_desc train = forward(array, epsilon, given, true);
        batch_normalization_forward.primitive_desc infer =
                forward(array, epsilon, PARAMETERS | dnnl.dnnl_use_global_stats, false);
        batch_normalization_backward.primitive_desc back = new batch_normalization_backward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.prop_kind.backward.value,
                array,
                array,
                array,
                epsilon,
                trained,
                sliced ? forward(array, epsilon, trained, true) : train,
                OneDnnContext.attributes(),
                false);
        training = new Kernel(context, what + " in training", train);
        statistics = sliced ? new BatchStatistics(context, what, layout) : null;
        inference = new Kernel(context, what + " in inference", infer);
        backward = new Kernel(context, what + ", backward", back);
        maskBytes = train.workspace_desc().get_size();
    }

    static BatchNormKernels make(OneDnnContext context, String layer, Layout layout, double epsilon, boolean relu) {
        String what = layer + ": batch normalization " + (relu ? "and ReLU " : "") + "of " + layout;
        return OneDnnContext.make(
                what,
                Work.ofNumbers(layout.length()),
                () -> new BatchNormKernels(context, what, layout, (float) epsilon, relu));
    }

    static batch_normalization_forward.primitive_desc forward(
            memory.desc array, float epsilon, int flags, boolean training) {
        return new batch_normalization_forward.primitive_desc(
                OneDnnContext.cpu(),
                training ? dnnl.prop_kind.forward_training.value : dnnl.prop_kind.forward_inference.value,
                array,
                array,
                epsilon,
                flags,
                OneDnnContext.attributes(),
                false);
    }

    /** Returns the size of ReLU's mask, 0 without ReLU. */
    long maskBytes() {
        return maskBytes;
    }

    /**
     * Normalizes with the statistics of the minibatch, and writes those.
     *
     * @param mask takes where ReLU lets pass, if it's applied
     */
    void train(INDArray input, Channels channels, INDArray output, INDArray mask) {
        if (statistics != null) {
            statistics.measure(input, channels, output);
        }
        bindMask(training, mask);
        run(training, input, channels, output);
    }

    private void bindMask(Kernel kernel, INDArray mask) {
        if (maskBytes > 0) {
            kernel.bind(dnnl.DNNL_ARG_WORKSPACE, mask);
        }
    }

    /** Normalizes with given statistics. */
    void infer(INDArray input, Channels channels, INDArray output) {
        run(inference, input, channels, output);
    }

    private static void run(Kernel kernel, INDArray input, Channels channels, INDArray output) {
        kernel.bind(dnnl.DNNL_ARG_SRC, input)
                .bind(dnnl.DNNL_ARG_DST, output)
                .bind(dnnl.DNNL_ARG_MEAN, channels.mean())
                .bind(dnnl.DNNL_ARG_VARIANCE, channels.variance())
                .bind(dnnl.DNNL_ARG_SCALE, channels.gamma())
                .bind(dnnl.DNNL_ARG_SHIFT, channels.beta())
                .run();
    }

    /**
     * Runs the backward pass.
     *
     * @param mask that of the forward pass, if ReLU was applied
     */
    void backward(
            INDArray input,
            INDArray epsilon,
            Channels channels,
            INDArray mask,
            ParameterGradients gradients,
            INDArray inputGradient) {
        bindMask(backward, mask);
        backward.bind(dnnl.DNNL_ARG_SRC, input)
                .bind(dnnl.DNNL_ARG_DIFF_DST, epsilon)
                .bind(dnnl.DNNL_ARG_DIFF_SRC, inputGradient)
                .bind(dnnl.DNNL_ARG_MEAN, channels.mean())
                .bind(dnnl.DNNL_ARG_VARIANCE, channels.variance())
                .bind(dnnl.DNNL_ARG_SCALE, channels.gamma())
                .bind(dnnl.DNNL_ARG_DIFF_SCALE, gradients.gamma())
                .bind(dnnl.DNNL_ARG_DIFF_SHIFT, gradients.beta())
                .run();
    }

    @Override
    public void close() {
        training.close();
        if (statistics != null) {
            statistics.close();
        }
        inference.close();
        backward.close();
    }
}
