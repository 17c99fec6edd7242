package org.dl4jamp.onednn.attention;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.onednn.weights.WeightCopy;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Forward and backward passes of an attention layer or vertex over {@code [minibatch, size, time]}. A training pass is
 * kept for the backward pass if DL4J's workspaces allow it, else computed again.
 */
final class AttentionPasses implements AutoCloseable {
    /**
     * The arguments of a backward pass.
     *
     * @param trace of the forward pass
     * @param inputs in channels-last order
     * @param mask the summands of scores; null for none
     * @param epsilon the gradient of the output in channels-last order
     * @param gradients where those of the parameters go; null if there are none
     * @param nexts where those of the inputs go, in channels-last order; empty for none
     * @param working memory for intermediate results
     */
    record Backward(
            AttentionTrace trace,
            List<INDArray> inputs,
            INDArray parameters,
            INDArray mask,
            INDArray epsilon,
            Place gradients,
            List<INDArray> nexts,
            AttentionMemory working) {}

    // More than other layers have: sequences come in many lengths, and all shapes share the memory for the weights.
    private static final int SHAPES = 4 * KernelCache.SHAPES;

    private final OneDnnContext context;
    private final Supplier<String> layer;
    private final AttentionForm form;
    private final DataType type;
    private final long scores;
    private final WeightCopy weights;
    private final KernelCache<List<Layout>, AttentionKernels> kernels = new KernelCache<>(SHAPES);
    private AttentionTrace kept;

    /**
     * @param layer returns its name, for error messages
     * @param keepsWeights whether copies of weights are made once, until they're marked as stale
     * @param scores how many scores are in memory at the same time, about
     */
    AttentionPasses(
            OneDnnContext context,
            Supplier<String> layer,
            AttentionForm form,
            DataType type,
            boolean keepsWeights,
            long scores) {
        this.context = context;
        this.layer = layer;
        this.form = form;
        this.type = type;
        this.scores = scores;
        this.weights = new WeightCopy(keepsWeights);
    }

    Twin.Weights weights() {
        return weights;
    }

    private AttentionKernels kernels(List<INDArray> inputs, INDArray parameters) {
        List<Layout> key = inputs.stream().map(Layout::of).toList();
        return kernels.get(
                key,
                () -> OneDnnContext.make(
                        layer.get(),
                        Work.LARGE,
                        () -> new AttentionKernels(
                                context,
                                layer.get(),
                                form,
                                type,
                                inputs,
                                parameters == null ? 0 : parameters.length(),
                                weights,
                                scores)));
    }

    private List<INDArray> ready(List<INDArray> inputs, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        List<INDArray> ready = new ArrayList<>(inputs.size());
        for (INDArray input : inputs) {
            ready.add(context.copies().channelsLast(input, type, workspaceMgr, working));
        }
        return ready;
    }

    /**
     * Runs a forward pass.
     *
     * @param inputs {@code [minibatch, nIn, time]} each, of any order in memory
     * @param parameters FP32, all of them in a row; null if there are none
     * @return {@code [minibatch, nOut, queries]}
     */
    INDArray forward(
            List<INDArray> inputs,
            INDArray parameters,
            AttentionMasks masks,
            boolean training,
            LayerWorkspaceMgr workspaceMgr) {
        forget();
        List<INDArray> x = ready(inputs, workspaceMgr, ArrayType.FF_WORKING_MEM);
        AttentionKernels ours = kernels(x, parameters);
        boolean keeps = training && Workspaces.staysUntilBackward(workspaceMgr);
        INDArray output = Workspaces.channelsLast(
                workspaceMgr, ArrayType.ACTIVATIONS, type, ours.sizes().outputShape());
        AttentionMemory working = AttentionMemory.ofForward(workspaceMgr);
        AttentionMemory lasting = keeps ? new AttentionMemory(workspaceMgr, ArrayType.ACTIVATIONS) : working;
        AttentionTrace trace = ours.forward(x, parameters, summands(x, masks, working), output, lasting);
        INDArray factors = factors(x, masks, working);
        if (factors != null) {
            ours.maskQueries(output, factors, output);
        }
        kept = keeps ? trace : null;
        return output;
    }

    private INDArray summands(List<INDArray> inputs, AttentionMasks masks, AttentionMemory memory) {
        return masks.summands(inputs.get(form.source(AttentionForm.KEYS)), memory);
    }

    private INDArray factors(List<INDArray> inputs, AttentionMasks masks, AttentionMemory memory) {
        return masks.factors(inputs.get(form.source(AttentionForm.QUERIES)), memory);
    }

    /**
     * Runs a backward pass.
     *
     * @param epsilon {@code [minibatch, nOut, queries]}
     * @param gradients where those of the parameters go; null if there are none
     * @param inputsToo whether the gradients of the inputs are wanted
     * @return the gradients of the inputs, in memory for gradients of activations; if they're unwanted, in working
     *     memory or empty
     */
    List<INDArray> backward(
            List<INDArray> inputs,
            INDArray parameters,
            AttentionMasks masks,
            INDArray epsilon,
            Place gradients,
            boolean inputsToo,
            LayerWorkspaceMgr workspaceMgr) {
        AttentionMemory working = AttentionMemory.ofBackward(workspaceMgr);
        List<INDArray> x = ready(inputs, workspaceMgr, ArrayType.BP_WORKING_MEM);
        AttentionKernels ours = kernels(x, parameters);
        INDArray summands = summands(x, masks, working);
        AttentionTrace trace = kept;
        if (trace == null) {
            INDArray output = Workspaces.channelsLast(
                    workspaceMgr, ArrayType.BP_WORKING_MEM, type, ours.sizes().outputShape());
            trace = ours.forward(x, parameters, summands, output, working);
        }
        forget();
        INDArray delta = context.copies().channelsLast(epsilon, type, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray factors = factors(x, masks, working);
        if (factors != null) {
            INDArray masked = Workspaces.like(delta, workspaceMgr, ArrayType.BP_WORKING_MEM);
            ours.maskQueries(delta, factors, masked);
            delta = masked;
        }
        List<INDArray> nexts = nexts(ours, x, inputsToo, workspaceMgr);
        ours.backward(new Backward(trace, x, parameters, summands, delta, gradients, nexts, working));
        return nexts;
    }

    private List<INDArray> nexts(
            AttentionKernels ours, List<INDArray> inputs, boolean wanted, LayerWorkspaceMgr workspaceMgr) {
        if (!wanted && form.projects() && !form.learnsQueries()) {
            return List.of();
        }
        List<INDArray> nexts = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            ArrayType place = wanted ? ArrayType.ACTIVATION_GRAD : ArrayType.BP_WORKING_MEM;
            nexts.add(Workspaces.channelsLast(
                    workspaceMgr,
                    place,
                    ours.sizes().gradientOf(i),
                    inputs.get(i).shape()));
        }
        return nexts;
    }

    /** Makes the next backward pass run forward again. */
    void forget() {
        kept = null;
    }

    @Override
    public void close() {
        forget();
        kernels.close();
        weights.close();
    }
}
