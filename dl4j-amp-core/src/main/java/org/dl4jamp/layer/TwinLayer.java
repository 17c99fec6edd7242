package org.dl4jamp.layer;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.AmpException;
import org.dl4jamp.dl4j.NetworkCall;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Stands in a network for one of its layers and lets a {@link Twin} compute: casts in and out where the types differ, keeps the input in the
 * narrower type between forward and backward pass, applies input dropout, and takes the loss scale out of the parameter gradients as soon as
 * they are written, so that everyone who looks at them sees true FP32 gradients.
 *
 * <p>Gradients that it hands back have the type of the activations that it was given, so that DL4J can add up those of several consumers; outside of
 * steps, where the loss isn't scaled, those of HALF activations are FLOAT.
 */
public class TwinLayer extends PairedLayer {
    private static final long serialVersionUID = 1L;

    private final transient Twin twin;
    private final DataType rounded;
    private final DataType output;
    private final transient Surroundings surroundings;
    private final transient GradientScale gradientScale;
    private final transient StepGuard guard;

    private transient ScaledGradients scaledGradients;
    private transient INDArray input;
    private DataType givenType = DataType.FLOAT;
    private boolean settled;
    private boolean dropoutApplied;

    /**
     * @param master the network's own layer
     * @param twin what computes
     * @param rounded the precision that inputs are rounded to if the twin wants them rounded
     * @param output the type of the activations that are handed on
     * @param surroundings what stands before and after it
     * @param gradientScale tells the scale of gradients
     * @param guard tells whether the last step was skipped
     */
    public TwinLayer(
            Layer master,
            Twin twin,
            DataType rounded,
            DataType output,
            Surroundings surroundings,
            GradientScale gradientScale,
            StepGuard guard) {
        super(master, twin);
        this.twin = twin;
        this.rounded = rounded;
        this.output = output;
        this.surroundings = surroundings;
        this.gradientScale = gradientScale;
        this.guard = guard;
        if (master.getGradientsViewArray() != null) {
            shareGradients(master.getGradientsViewArray());
        }
    }

    final GradientScale gradientScale() {
        return gradientScale;
    }

    /** The training step that this layer takes part in. */
    public final StepGuard guard() {
        return guard;
    }

    @Override
    public void setInput(INDArray given, LayerWorkspaceMgr workspaceMgr) {
        dropoutApplied = false;
        settled = false;
        input = given;
        if (given != null) {
            givenType = given.dataType();
        }
    }

    /**
     * Casts the input to the type that it's kept in. Not before the layer's own turn: a graph sets inputs while another vertex's workspaces are
     * open.
     */
    private void settleInput(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        if (settled) {
            return;
        }
        if (input == null) {
            throw new AmpException("Layer \"" + conf().getLayer().getLayerName()
                    + "\" has no input: it was cleared since it ran forward, or mixed precision was enabled since then."
                    + " Run the network forward again");
        }
        settled = true;
        LayerWorkspaceMgr keeper = Casts.keeper(workspaceMgr, working, input);
        boolean keepsRounded = twin.roundsInput() && !isRoundedByEachPass();
        INDArray kept = keepsRounded ? twin.casting().cast(input, rounded, keeper, ArrayType.INPUT) : input;
        if (twin.retention() == Twin.Retention.CAST_INPUT) {
            kept = twin.casting().cast(kept, twin.dataType(), keeper, ArrayType.INPUT);
        }
        input = kept == input ? keeper.leverageTo(ArrayType.INPUT, kept) : kept;
        if (twin.retention() == Twin.Retention.CAST_INPUT) {
            compute().setInput(input, keeper);
        }
    }

    /**
     * Whether keeping a rounded copy would only add to what is kept: an array outside of workspaces, such as the features of a minibatch, stays
     * until the backward pass anyway.
     */
    private boolean isRoundedByEachPass() {
        return !input.isAttached()
                && twin.retention() == Twin.Retention.INPUT
                && twin.dataType() == rounded
                && twin.dropout() == null;
    }

    @Override
    public INDArray input() {
        return input;
    }

    /** The master with the input in FP32. It's told only now, because it would keep the array until the input is cleared. */
    @Override
    public Layer informedMaster() {
        boolean informed = compute() == master() && settled;
        if (!informed && input != null) {
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                master().setInput(input.castTo(DataType.FLOAT), LayerWorkspaceMgr.noWorkspaces());
            }
        }
        return master();
    }

    @Override
    public int batchSize() {
        return input == null ? super.batchSize() : (int) input.size(0);
    }

    @Override
    public INDArray activate(INDArray given, boolean training, LayerWorkspaceMgr workspaceMgr) {
        try (Gate.Inside inside = guard.gate().enter()) {
            setInput(given, workspaceMgr);
            return activate(training, workspaceMgr);
        }
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return forward(training, workspaceMgr, inner -> compute().activate(training, inner));
    }

    /** One way of running the twin forward, on the input that has been set. */
    interface Forward {
        INDArray run(LayerWorkspaceMgr workspaceMgr);
    }

    /** One way of running the twin backward, on the input that has been set. */
    interface Backward {
        Pair<Gradient, INDArray> run(INDArray epsilon, LayerWorkspaceMgr workspaceMgr);
    }

    final INDArray forward(boolean training, LayerWorkspaceMgr workspaceMgr, Forward forward) {
        try (Gate.Inside inside = guard.gate().enter()) {
            return forwardInside(training, workspaceMgr, forward);
        }
    }

    private INDArray forwardInside(boolean training, LayerWorkspaceMgr workspaceMgr, Forward forward) {
        gradientScale.forwardBegins();
        settleInput(workspaceMgr, ArrayType.FF_WORKING_MEM);
        twin.weights().refresh();
        if (training) {
            applyDropout(workspaceMgr, ArrayType.FF_WORKING_MEM);
        }
        boolean castsOut = output != twin.outputType();
        LayerWorkspaceMgr inner = prepare(workspaceMgr, ArrayType.FF_WORKING_MEM, castsOut, ArrayType.ACTIVATIONS);
        INDArray activations = twin.casting().cast(forward.run(inner), output, workspaceMgr, ArrayType.ACTIVATIONS);
        return surroundings.foreignConsumer()
                ? twin.casting().usualOrder(activations, workspaceMgr, ArrayType.ACTIVATIONS)
                : activations;
    }

    /** Sets the twin's input, cast if need be, and says where it is to put what it makes. */
    private LayerWorkspaceMgr prepare(
            LayerWorkspaceMgr workspaceMgr, ArrayType working, boolean castsResult, ArrayType result) {
        boolean castsIn = twin.retention() == Twin.Retention.INPUT && input.dataType() != twin.dataType();
        boolean redirectsInput = castsIn || !Casts.isOpen(workspaceMgr, ArrayType.INPUT);
        LayerWorkspaceMgr inner;
        if (redirectsInput && castsResult) {
            inner = Casts.workingMemory(workspaceMgr, working, ArrayType.INPUT, result);
        } else if (redirectsInput) {
            inner = Casts.workingMemory(workspaceMgr, working, ArrayType.INPUT);
        } else if (castsResult) {
            inner = Casts.workingMemory(workspaceMgr, working, result);
        } else {
            inner = workspaceMgr;
        }
        if (twin.retention() == Twin.Retention.INPUT) {
            compute().setInput(twin.casting().cast(input, twin.dataType(), inner, working), inner);
        }
        return inner;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        return backward(epsilon, workspaceMgr, compute()::backpropGradient);
    }

    final Pair<Gradient, INDArray> backward(INDArray epsilon, LayerWorkspaceMgr workspaceMgr, Backward backward) {
        try (Gate.Inside inside = guard.gate().enter()) {
            return backwardInside(epsilon, workspaceMgr, backward);
        }
    }

    private Pair<Gradient, INDArray> backwardInside(
            INDArray epsilon, LayerWorkspaceMgr workspaceMgr, Backward backward) {
        if (isBackwardPassUnread()) {
            return new Pair<>(new DefaultGradient(), unread(workspaceMgr));
        }
        settleInput(workspaceMgr, ArrayType.BP_WORKING_MEM);
        twin.weights().reload();
        boolean castsOut = gradientScale.typeOfGradients(givenType) != twin.dataType() || twin.dropout() != null;
        LayerWorkspaceMgr inner = prepare(workspaceMgr, ArrayType.BP_WORKING_MEM, castsOut, ArrayType.ACTIVATION_GRAD);
        boolean spares = sparesInputGradient();
        TwinScale.Scaled scaled = run(epsilon, workspaceMgr, inner, backward);
        unscaleParameterGradients(scaled.scale());
        Gradient gradient = scaled.result().getFirst();
        if (spares) {
            return new Pair<>(gradient, unread(workspaceMgr));
        }
        INDArray next = scaled.result().getSecond();
        if (twin.dropout() != null && next != null) {
            next = twin.casting().cast(next, dropoutType(), workspaceMgr, ArrayType.BP_WORKING_MEM);
            next = twin.dropout().backprop(next, next, getIterationCount(), getEpochCount());
        }
        next = handBack(next, workspaceMgr);
        if (next != null && scaled.scale() != 1) {
            next.muli(1 / scaled.scale());
        }
        return new Pair<>(gradient, next);
    }

    private TwinScale.Scaled run(
            INDArray epsilon, LayerWorkspaceMgr workspaceMgr, LayerWorkspaceMgr inner, Backward backward) {
        if (twin.outputType() == DataType.HALF && gradientScale.needFloat()) {
            return TwinScale.run(
                    epsilon,
                    scale -> backward.run(
                            Casts.scaled(epsilon, scale, DataType.HALF, workspaceMgr, ArrayType.BP_WORKING_MEM),
                            inner));
        }
        INDArray own = twin.casting().cast(epsilon, twin.outputType(), workspaceMgr, ArrayType.BP_WORKING_MEM);
        return new TwinScale.Scaled(backward.run(own, inner), 1);
    }

    /** Whether there is neither a gradient of parameters to compute nor one of the input that someone reads. */
    private boolean isBackwardPassUnread() {
        return surroundings.inputGradient() != Surroundings.InputGradient.READ
                && master().numParams() == 0
                && NetworkCall.dropsInputGradient();
    }

    private boolean sparesInputGradient() {
        if (surroundings.inputGradient() == Surroundings.InputGradient.READ
                || !(compute() instanceof SparingTwin sparing)) {
            return false;
        }
        boolean unwanted = NetworkCall.dropsInputGradient();
        sparing.spareInputGradient(unwanted);
        return unwanted;
    }

    /** In place of a gradient of the input that no parameter depends on: zeros for those that hand it on. */
    private INDArray unread(LayerWorkspaceMgr workspaceMgr) {
        return surroundings.inputGradient() == Surroundings.InputGradient.DROPPED
                ? null
                : workspaceMgr.create(
                        ArrayType.ACTIVATION_GRAD, gradientScale.typeOfGradients(givenType), input.shape(), 'c');
    }

    /** Casts an epsilon to the type of the activations it belongs to. */
    INDArray handBack(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        Casting casting = twin.casting();
        INDArray cast = casting.cast(
                epsilon, gradientScale.typeOfGradients(givenType), workspaceMgr, ArrayType.ACTIVATION_GRAD);
        if (cast == null) {
            return null;
        }
        INDArray ordered = surroundings.foreignProducer()
                ? casting.usualOrder(cast, workspaceMgr, ArrayType.ACTIVATION_GRAD)
                : cast;
        INDArray own = casting.leverage(ordered, workspaceMgr);
        return surroundings.inputShared() ? casting.summable(own) : own;
    }

    /** Whether the parameter gradients that the twin writes carry the scale. Those of an output layer don't. */
    boolean scalesParameterGradients() {
        return true;
    }

    /**
     * Makes the parameter gradients true ones.
     *
     * @param ownScale what the twin has scaled them by, beside the scale of the step
     */
    private void unscaleParameterGradients(double ownScale) {
        double inverse = (scalesParameterGradients() ? gradientScale.inverse() : 1) / ownScale;
        if (inverse != 1 && scaledGradients != null) {
            scaledGradients.multiply(inverse);
        }
    }

    /** For output layers, which DL4J doesn't run forward in training. */
    final void applyDropoutBeforeBackward(LayerWorkspaceMgr workspaceMgr) {
        settleInput(workspaceMgr, ArrayType.BP_WORKING_MEM);
        applyDropout(workspaceMgr, ArrayType.BP_WORKING_MEM);
    }

    /** Sets the twin's input and weights for a score outside forward and backward pass. */
    final LayerWorkspaceMgr prepareScore(boolean training, LayerWorkspaceMgr workspaceMgr) {
        settleInput(workspaceMgr, ArrayType.FF_WORKING_MEM);
        twin.weights().refresh();
        if (training) {
            applyDropout(workspaceMgr, ArrayType.FF_WORKING_MEM);
        }
        return prepare(workspaceMgr, ArrayType.FF_WORKING_MEM, false, ArrayType.ACTIVATIONS);
    }

    private void applyDropout(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        if (twin.dropout() == null || dropoutApplied) {
            return;
        }
        INDArray from = twin.casting().cast(input, dropoutType(), workspaceMgr, working);
        INDArray to = workspaceMgr.createUninitialized(working, from.dataType(), from.shape(), orderOfDl4j(input));
        INDArray dropped = twin.dropout().applyDropout(from, to, getIterationCount(), getEpochCount(), workspaceMgr);
        LayerWorkspaceMgr keeper = Casts.keeper(workspaceMgr, working, input);
        input = dropped.dataType() == input.dataType()
                ? keeper.leverageTo(ArrayType.INPUT, dropped)
                : twin.casting().cast(dropped, input.dataType(), keeper, ArrayType.INPUT);
        dropoutApplied = true;
    }

    /**
     * The order of the array that DL4J would have here, by whose positions in memory random numbers are drawn. Its recurrent layers hand on order
     * {@code f}, an engine's may hand on another with the time steps one after the other.
     */
    private static char orderOfDl4j(INDArray array) {
        boolean stepByStep =
                array.rank() == 3 && array.stride(2) >= array.stride(0) && array.stride(2) >= array.stride(1);
        return stepByStep ? 'f' : array.ordering();
    }

    // ND4J's random operations don't take BFLOAT16. Where the twin is FLOAT they draw the same numbers as DL4J's layer.
    private DataType dropoutType() {
        return twin.dataType() == DataType.BFLOAT16 ? DataType.FLOAT : twin.dataType();
    }

    @Override
    public void setBackpropGradientsViewArray(INDArray gradients) {
        super.setBackpropGradientsViewArray(gradients);
        shareGradients(gradients);
    }

    private void shareGradients(INDArray gradients) {
        if (compute() != master()) {
            compute().setBackpropGradientsViewArray(gradients);
        }
        scaledGradients = ScaledGradients.of(master(), gradients);
    }

    @Override
    public int getInputMiniBatchSize() {
        return batchSize();
    }

    @Override
    public void fit(INDArray data, LayerWorkspaceMgr workspaceMgr) {
        master().fit(twin.casting().cast(data, DataType.FLOAT, workspaceMgr, ArrayType.INPUT), workspaceMgr);
    }

    @Override
    public void applyConstraints(int iteration, int epoch) {
        // DL4J's optimizer calls for it at the end of each step.
        if (!guard.skippedLastStep()) {
            super.applyConstraints(iteration, epoch);
            try (Gate.Inside inside = guard.gate().enter()) {
                twin.weights().stepDone();
            }
        }
    }

    @Override
    public void clear() {
        super.clear();
        if (compute() != master()) {
            compute().clear();
        }
        if (twin.dropout() != null) {
            twin.dropout().clear();
        }
        input = null;
        dropoutApplied = false;
    }
}
