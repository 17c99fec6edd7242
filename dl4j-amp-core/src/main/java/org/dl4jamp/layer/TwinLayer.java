package org.dl4jamp.layer;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.twin.Gate;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.RefusedShape;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The wrapper of one of a network's layers, for which a {@link Twin} computes. {@link KeptInput} treats its input,
 * {@link TwinPasses} run the twin; this class has DL4J's methods, and enters the step's gate. Parameter gradients are
 * true FP32 gradients, without the loss scale.
 *
 * <p>Gradients that it returns have the type of its input, so that DL4J can add up those of several consumers. Outside
 * of steps, where the loss isn't scaled, those of HALF activations are FLOAT.
 */
public class TwinLayer extends PairedLayer {
    private static final long serialVersionUID = 1L;

    private final transient TwinSetup setup;
    private final transient KeptInput input;
    private final transient TwinPasses passes;
    private transient boolean ranOwn;
    private transient boolean leftToMaster;

    TwinLayer(TwinSetup setup) {
        super(setup.master(), setup.twin());
        this.setup = setup;
        this.input = new KeptInput(setup);
        this.passes = new TwinPasses(setup, input);
        Layer master = master();
        // DL4J leaves output layers out of the forward pass in training, and of those for scores.
        guard().gate().takePart(setup.context().turn(), master instanceof IOutputLayer);
        if (master.getGradientsViewArray() != null) {
            shareGradients(master.getGradientsViewArray());
        }
    }

    final GradientScale gradientScale() {
        return setup.gradientScale();
    }

    /** Returns the training step that this layer takes part in. */
    public final StepGuard guard() {
        return setup.guard();
    }

    @Override
    public void setInput(INDArray given, LayerWorkspaceMgr workspaceMgr) {
        try (Gate.Inside inside = guard().gate().touch()) {
            ranOwn = false;
            leftToMaster = false;
            input.give(given, isReplaced());
            gradientScale().forwardBegins();
            if (inside.isOwn() || isReplaced()) {
                // A pass that was about to call this layer when it was replaced goes on with the network's own.
                master().setInput(given, workspaceMgr);
            }
        }
    }

    /** Returns whether only the master has an input, which it was given before this wrapper stood in its place. */
    private boolean isGivenBefore() {
        return input.array() == null && master().input() != null;
    }

    /** Gives what no pass has taken yet to the layer that replaces this one. */
    public void handOver(Layer next) {
        input.giveIfPending(next);
    }

    /** Returns the master with the input of a pass that the network's own layers compute. */
    Layer masterOfPass() {
        // An input that was taken is one of an earlier pass: the master has been given this one's itself.
        input.giveIfPending(master());
        return master();
    }

    final boolean ranOwn() {
        return ranOwn;
    }

    /** Enters for a forward pass of an input that comes along. */
    final Gate.Inside enterGiven() {
        return guard().gate().forward(setup.context().turn(), false);
    }

    final Gate.Inside enterScore() {
        return guard().gate().score(setup.context().turn(), isGivenBefore());
    }

    @Override
    public INDArray input() {
        return input.array();
    }

    @Override
    public Layer informedMaster() {
        input.informMaster();
        return master();
    }

    @Override
    public int batchSize() {
        return input() == null ? super.batchSize() : (int) input().size(0);
    }

    @Override
    public INDArray activate(INDArray given, boolean training, LayerWorkspaceMgr workspaceMgr) {
        try (Gate.Inside inside = enterGiven()) {
            setInput(given, workspaceMgr);
            return activate(training, workspaceMgr);
        }
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return forward(
                training,
                workspaceMgr,
                inner -> compute().activate(training, inner),
                own -> masterOfPass().activate(training, own),
                inner -> master().activate(training, inner));
    }

    /**
     * Runs forward.
     *
     * @param ours runs the twin
     * @param own runs the master, in a pass of the network's own layers
     * @param left runs the master on FP32 input, where the engine would lose special numbers or refuses the shape
     */
    final INDArray forward(
            boolean training,
            LayerWorkspaceMgr workspaceMgr,
            TwinPasses.Forward ours,
            TwinPasses.Forward own,
            TwinPasses.Forward left) {
        try (Gate.Inside inside = guard().gate().forward(setup.context().turn(), isGivenBefore())) {
            ranOwn = inside.isOwn();
            if (ranOwn) {
                return own.run(workspaceMgr);
            }
            begin(training);
            gradientScale().forwardBegins();
            LayerContext.PassCheck check = setup.context().check();
            boolean leaves = check.leavesToDl4j(training, input.array())
                    || check.refused().contain(input.array());
            leftToMaster = leaves && compute() != master();
            if (leftToMaster) {
                return passes.forwardOfMaster(training, workspaceMgr, left);
            }
            try {
                return compute(training, workspaceMgr, ours);
            } catch (RefusedShape e) {
                refuse(e);
                leftToMaster = true;
                return passes.forwardOfRefused(training, workspaceMgr, left);
            }
        }
    }

    private void refuse(RefusedShape refusal) {
        setup.context().check().refused().add("Layer \"" + setup.name() + "\"", refusal, input.array());
    }

    /** Refuses training where it's forbidden, and freed parameters, which ND4J's operations refuse by themselves. */
    private void begin(boolean training) {
        if (training) {
            guard().trains();
        }
        if (compute() != master()) {
            refuseFreedParameters(master());
        }
    }

    /**
     * Throws an {@link AmpException} if the parameters of a network's own layer were freed: code that reads them by
     * address would read whatever is there now.
     */
    public static void refuseFreedParameters(Layer master) {
        INDArray parameters = master.params();
        if (parameters != null && parameters.wasClosed()) {
            throw new AmpException("Layer \"" + master.conf().getLayer().getLayerName()
                    + "\" has no parameters any more: close() of the network, or of its parameter array, has"
                    + " freed them."
                    + " A closed network computes no more; leave its mode with close(), and load or make"
                    + " another network");
        }
    }

    /** Runs the twin forward. */
    INDArray compute(boolean training, LayerWorkspaceMgr workspaceMgr, TwinPasses.Forward computation) {
        return passes.forward(training, workspaceMgr, computation);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        return backward(epsilon, workspaceMgr, compute()::backpropGradient, master()::backpropGradient);
    }

    /** Runs backward what ran forward: {@code ours} runs the twin, and {@code own} the master. */
    final Pair<Gradient, INDArray> backward(
            INDArray epsilon, LayerWorkspaceMgr workspaceMgr, TwinPasses.Backward ours, TwinPasses.Backward own) {
        if (ranOwn) {
            return own.run(epsilon, workspaceMgr);
        }
        guard().backpropagates();
        try (Gate.Inside inside = guard().gate().enter()) {
            guard().trains();
            if (leftToMaster) {
                return passes.backwardOfMaster(epsilon, workspaceMgr, own);
            }
            try {
                return passes.backward(epsilon, workspaceMgr, ours);
            } catch (RefusedShape e) {
                refuse(e);
                return passes.backwardOfRefused(e, epsilon, workspaceMgr, own);
            }
        }
    }

    /** Applies the dropout of output layers, which DL4J doesn't run forward in training. */
    final void applyDropoutBeforeBackward(LayerWorkspaceMgr workspaceMgr) {
        begin(false);
        input.settle(workspaceMgr, ArrayType.BP_WORKING_MEM);
        input.dropOut(workspaceMgr, ArrayType.BP_WORKING_MEM);
    }

    /** Sets the twin's input and weights for a score outside forward and backward pass. */
    final LayerWorkspaceMgr prepareScore(boolean training, LayerWorkspaceMgr workspaceMgr) {
        begin(training);
        return passes.begin(training, workspaceMgr, false);
    }

    @Override
    public void setBackpropGradientsViewArray(INDArray gradients) {
        super.setBackpropGradientsViewArray(gradients);
        shareGradients(gradients);
    }

    private void shareGradients(INDArray gradients) {
        if (!guard().infersOnly()) {
            if (compute() != master()) {
                compute().setBackpropGradientsViewArray(gradients);
            }
            passes.writeTo(gradients);
        }
    }

    @Override
    public int getInputMiniBatchSize() {
        return batchSize();
    }

    @Override
    public void fit(INDArray data, LayerWorkspaceMgr workspaceMgr) {
        guard().trains();
        INDArray rows = twin().casting().cast(data, DataType.FLOAT, workspaceMgr, ArrayType.INPUT);
        if (compute() instanceof Twin.Pretraining pretraining) {
            scored = pretraining.pretrain(master(), guard().gate(), rows, workspaceMgr);
        } else {
            master().fit(rows, workspaceMgr);
        }
    }

    @Override
    public void applyConstraints(int iteration, int epoch) {
        // DL4J's optimizer calls for it at the end of each step.
        if (!guard().skippedLastStep()) {
            super.applyConstraints(iteration, epoch);
            try (Gate.Inside inside = guard().gate().enter()) {
                twin().weights().stepDone();
            }
        }
    }

    @Override
    public void clear() {
        try (Gate.Inside inside = guard().gate().touch()) {
            ranOwn = false;
            leftToMaster = false;
            super.clear();
            if (compute() != master()) {
                compute().clear();
            }
            input.clear();
        }
    }
}
