package org.dl4jamp.layer;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.twin.Gate;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The wrapper of one of a network's layers, for which a {@link Twin} computes. {@link KeptInput} treats its input,
 * {@link TwinPasses} run the twin, {@link MasterPasses} the master; this class has DL4J's methods, and enters the
 * step's gate. Parameter gradients are true FP32 gradients, without the loss scale.
 *
 * <p>Gradients that it returns have the type of its input, so that DL4J can add up those of several consumers. Outside
 * of steps, where the loss isn't scaled, those of HALF activations are FLOAT.
 */
public class TwinLayer extends PairedLayer {
    private static final long serialVersionUID = 1L;

    private final transient TwinSetup setup;
    private final transient KeptInput input;
    private final transient TwinPasses passes;
    private final transient MasterPasses ofMaster;
    private transient boolean ranOwn;

    TwinLayer(TwinSetup setup) {
        super(setup.master(), setup.twin());
        this.setup = setup;
        this.input = new KeptInput(setup);
        this.passes = new TwinPasses(setup, input);
        this.ofMaster = new MasterPasses(setup, input, passes);
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
            ofMaster.end();
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
        input.handOver(next);
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
            ofMaster.beginForward(training);
            INDArray given = input.array();
            if (ofMaster.computes()) {
                repeated().leftToDl4j();
                return ofMaster.forward(training, workspaceMgr, left);
            }
            INDArray ready = repeated().repeated(given, training, workspaceMgr);
            if (ready != null) {
                handOn(ready);
                return ready;
            }
            INDArray output = ofMaster.unlessRefused(
                    ofMaster.rewinding(training),
                    () -> compute(training, workspaceMgr, ours),
                    () -> ofMaster.forward(training, workspaceMgr, left));
            repeated().computed(given, output, !ofMaster.computes() && computesAsAlways());
            return output;
        }
    }

    final MasterPasses ofMaster() {
        return ofMaster;
    }

    /** Refuses training where it's forbidden, and freed parameters, which ND4J's operations refuse by themselves. */
    private void begin(boolean training) {
        if (training) {
            guard().trains();
        }
        if (compute() != master()) {
            FreedParameters.refuse(master());
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
            if (ofMaster.computes()) {
                return ofMaster.backward(epsilon, workspaceMgr, own);
            }
            return ofMaster.unlessRefused(
                    ofMaster.rewindingBackward(),
                    () -> {
                        prepareBackward(workspaceMgr);
                        return passes.backward(epsilon, workspaceMgr, ours);
                    },
                    () -> ofMaster.backwardAlone(epsilon, workspaceMgr, own));
        }
    }

    /** Does what the twin needs before its backward pass. */
    void prepareBackward(LayerWorkspaceMgr workspaceMgr) {
        // Its forward pass has done it.
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
        scored = compute() instanceof Twin.Pretraining pretraining
                ? ofMaster.unlessRefused(
                        rows,
                        () -> pretraining.pretrain(master(), guard().gate(), rows, workspaceMgr),
                        () -> fitMaster(rows, workspaceMgr))
                : fitMaster(rows, workspaceMgr);
    }

    private Layer fitMaster(INDArray rows, LayerWorkspaceMgr workspaceMgr) {
        master().fit(rows, workspaceMgr);
        return master();
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
            ofMaster.end();
            super.clear();
            if (compute() != master()) {
                compute().clear();
            }
            input.clear();
        }
    }
}
