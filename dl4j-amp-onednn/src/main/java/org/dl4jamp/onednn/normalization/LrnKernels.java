package org.dl4jamp.onednn.normalization;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.lrn_backward;
import org.bytedeco.dnnl.lrn_forward;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Local response normalization across channels, for one shape. */
final class LrnKernels implements AutoCloseable {
    /**
     * {@code y = x * (k + alpha * sum of squares of neighbours)^-beta}.
     *
     * @param neighbours how many channels are summed up, the channel itself among them
     */
    record Formula(long neighbours, float alpha, float beta, float k) {}

    private final Kernel forward;
    private final Kernel backward;
    private final AlignedMemory workspace;
    private final boolean forwardKeeps;
    private final boolean backwardReads;

    private LrnKernels(OneDnnContext context, String what, Formula formula, memory.desc array) {
        // oneDNN divides alpha by the number of neighbours.
        float alpha = formula.alpha() * formula.neighbours();
        lrn_forward.primitive_desc first = new lrn_forward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.prop_kind.forward_training,
                dnnl.algorithm.lrn_across_channels,
                array,
                array,
                formula.neighbours(),
                alpha,
                formula.beta(),
                formula.k(),
                OneDnnContext.attributes(),
                false);
        lrn_backward.primitive_desc back = new lrn_backward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.algorithm.lrn_across_channels,
                array,
                array,
                array,
                formula.neighbours(),
                alpha,
                formula.beta(),
                formula.k(),
                first,
                OneDnnContext.attributes(),
                false);
        workspace = context.staging();
        workspace.reserve(first.workspace_desc().get_size());
        forward = new Kernel(context, what, first);
        backward = new Kernel(context, what + ", backward", back);
        // Not all of oneDNN's implementations have one.
        forwardKeeps = forward.takes(dnnl.DNNL_ARG_WORKSPACE);
        backwardReads = backward.takes(dnnl.DNNL_ARG_WORKSPACE);
    }

    static LrnKernels make(OneDnnContext context, String layer, Formula formula, Layout layout) {
        String what = layer + ": local response normalization with " + formula + " of " + layout;
        return OneDnnContext.make(
                what,
                Work.ofNumbers(layout.length()),
                () -> new LrnKernels(context, what, formula, layout.descriptor()));
    }

    void forward(INDArray input, INDArray output) {
        withWorkspace(forward, forwardKeeps)
                .bind(dnnl.DNNL_ARG_SRC, input)
                .bind(dnnl.DNNL_ARG_DST, output)
                .run();
    }

    /**
     * Runs the backward pass right after {@link #forward}, with the workspace of that in memory that the network's
     * kernels share.
     */
    void backward(INDArray input, INDArray epsilon, INDArray inputGradient) {
        withWorkspace(backward, backwardReads)
                .bind(dnnl.DNNL_ARG_SRC, input)
                .bind(dnnl.DNNL_ARG_DIFF_DST, epsilon)
                .bind(dnnl.DNNL_ARG_DIFF_SRC, inputGradient)
                .run();
    }

    private Kernel withWorkspace(Kernel kernel, boolean takesIt) {
        return takesIt ? kernel.bind(dnnl.DNNL_ARG_WORKSPACE, Place.kept(workspace.address())) : kernel;
    }

    @Override
    public void close() {
        forward.close();
        backward.close();
    }
}
