package org.dl4jamp.install;

import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.api.layers.LayerConstraint;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.UnscalingVertex;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.Place;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.step.ScaleUpdates;
import org.dl4jamp.step.StepCounts;
import org.dl4jamp.step.TrainingStep;
import org.dl4jamp.twin.Casting;
import org.dl4jamp.twin.DelegatingVertex;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Mixed precision in a network that is trained: its settings, training step and wrappers, until they are removed. */
public final class EnabledNetwork extends Installation {
    private static final Set<ElementWiseVertex.Op> COMBINE_WITH_GRADIENTS =
            EnumSet.of(ElementWiseVertex.Op.Product, ElementWiseVertex.Op.Max);

    private final ResolvedConfig settings;
    private final TrainingStep step;
    private final Pauses pauses;
    private Layer anchor;

    private EnabledNetwork(AmpNetwork network, ResolvedConfig settings, ScaleUpdates scale, TrainingStep step) {
        super(
                network,
                settings.plan(),
                step,
                new GradientScale(
                        scale::factor,
                        scale::isRepeating,
                        settings.plan().precision() == Precision.HALF,
                        settings.config().layerScales()),
                "MixedPrecision.close");
        this.settings = settings;
        this.step = step;
        this.pauses = new Pauses(step, scale, this);
    }

    /**
     * Enables mixed precision. The caller holds the network's monitor.
     *
     * @param owner returned by {@link TrainingStep#owner()}
     * @throws AmpException if it can't be done, with the reason; the network is then as it was
     */
    public static EnabledNetwork enable(Object owner, AmpNetwork network, AmpConfig config) {
        Preconditions.check(network, true);
        ResolvedConfig settings = ResolvedConfig.of(config, network.graphOfInstances());
        ScaleUpdates scale = settings.scaleUpdates(network);
        TrainingStep step = new TrainingStep(
                owner, network, scale, config.maxConsecutiveSkips(), settings.gradientTerms(network.model()));
        scale.factor();
        EnabledNetwork enabled = new EnabledNetwork(network, settings, scale, step);
        enabled.install(settings.engine().engine());
        settings.announce();
        return enabled;
    }

    /** Returns the owner of a network's mixed precision; empty if it has none. */
    public static Optional<Object> ownerOf(AmpNetwork network) {
        return Optional.of(network)
                .filter(AmpNetwork::isInitialized)
                .flatMap(view -> TrainingStep.of(view.updater()).or(() -> guardOf(view, TrainingStep.class)))
                .map(TrainingStep::owner);
    }

    /**
     * Returns what replaces this mixed precision, with other settings, between two steps. Nothing else changes:
     * counters, observers, gradients that wait, the loss scaler's state if the settings still need it.
     *
     * @throws AmpException if the network can't have these settings; nothing has changed then
     */
    public EnabledNetwork change(AmpConfig config) {
        ResolvedConfig.of(config, network.graphOfInstances());
        AmpState state = state();
        remove();
        EnabledNetwork next = enable(step.owner(), network, config);
        if (!config.layerScales()) {
            next.settings.restoreScaler(state);
        }
        next.step.follow(step);
        return next;
    }

    /** Returns the network that it serves. */
    public AmpNetwork served() {
        return network;
    }

    public ResolvedConfig settings() {
        return settings;
    }

    public TrainingStep step() {
        return step;
    }

    public Pauses pauses() {
        return pauses;
    }

    /** Returns the state to save beside the network. */
    public AmpState state() {
        StepCounts counts = step.counts();
        return new AmpState(
                settings.config(),
                settings.scaler().state(),
                counts.taken(),
                counts.skipped(),
                counts.consecutiveSkips(),
                counts.collected(),
                step.waiting());
    }

    /**
     * Goes on from a saved state.
     *
     * @throws AmpException if the loss scaler, or the network, can't have it; mixed precision is then removed
     */
    public void restore(AmpState state) {
        try {
            settings.restoreScaler(state);
            state.waiting().ifPresent(step::restore);
            step.restore(new StepCounts(
                    state.stepsTaken(), state.stepsSkipped(), state.consecutiveSkips(), state.iterationsWithoutStep()));
        } catch (AmpException e) {
            remove();
            throw e;
        }
    }

    /** Makes a step of the micro-batches that wait for more. Returns whether any were waiting. */
    public boolean applyPartialGroup() {
        Model network = step.network();
        NetworkCall.refuseInPass("MixedPrecision.applyPartialGroup", network);
        synchronized (network) {
            if (isRemoved()) {
                throw new AmpException(
                        "applyPartialGroup: this mixed precision is closed, and its network trains without;"
                                + " call it before close(), or ask MixedPrecision.of(network) for the one in force");
            }
            return step.applyGroup();
        }
    }

    @Override
    ComputeEngine.EngineSession open(ComputeEngine engine, long largestLayer) {
        network.gradients();
        anchor = anchor();
        return engine.session(largestLayer, settings.config().optLevel() != OptLevel.O3);
    }

    @Override
    void begin() {
        step.use(session.stepKernels(), session::losesSpecialNumbers);
        step.installUpdater();
    }

    @Override
    void end() {
        step.removeUpdater();
    }

    @Override
    Optional<TwinLayer> wrapper(String name) {
        Layer master = masters.get(name);
        boolean stays = isUntouched(name) && !isAlwaysWrapped(master) && (master.numParams() == 0 || !plan.anyHalf());
        return stays ? Optional.empty() : Optional.of(setup(name, twin(name)).wrapper());
    }

    /** Layers compute for themselves in a pause. Those that notify the step, or that it has to stop, need a wrapper. */
    @Override
    Optional<TwinLayer> wrapperInPause(String name) {
        return isAlwaysWrapped(masters.get(name)) ? Optional.of(floatWrapper(name)) : Optional.empty();
    }

    /**
     * Returns whether a layer has a wrapper in FP32 and in pauses, too. One layer of a network has: by its wrapper the
     * owner is found when DL4J has replaced the updater, in {@code setLearningRate} for example.
     */
    private boolean isAlwaysWrapped(Layer master) {
        return notifies(master) || master == anchor;
    }

    private static boolean notifies(Layer master) {
        return master instanceof IOutputLayer || isConstrained(master.conf().getLayer());
    }

    /** Returns the last layer with parameters, if no layer notifies the step; else null. */
    private Layer anchor() {
        return masters.values().stream().anyMatch(EnabledNetwork::notifies)
                ? null
                : masters.values().stream()
                        .filter(layer -> layer.numParams() > 0)
                        .reduce((first, second) -> second)
                        .orElse(null);
    }

    /**
     * Returns whether the wrapper has to keep DL4J from moving the parameters of a skipped step. Looks into layers that
     * wrap others, which DL4J calls for their constraints in their turn.
     */
    private static boolean isConstrained(org.deeplearning4j.nn.conf.layers.Layer layer) {
        List<LayerConstraint> constraints = layer.getConstraints();
        if (constraints != null && !constraints.isEmpty()) {
            return true;
        }
        if (layer instanceof Bidirectional both) {
            return isConstrained(both.getFwd()) || isConstrained(both.getBwd());
        }
        return layer instanceof BaseWrapperLayer wrapper && isConstrained(wrapper.getUnderlying());
    }

    @Override
    Optional<? extends GraphVertex> vertex(Place<GraphVertex> place) {
        GraphVertex master = place.current().get();
        Optional<GraphVertex> twin =
                isByEngine(place.name()) ? Optional.of(session.vertex(request(place))) : Optional.empty();
        if (master.numParams() > 0) {
            return Optional.of(new UnscalingVertex(master, twin.orElse(master), gradientScale));
        }
        if (twin.isPresent()) {
            return twin;
        }
        return plan.row(place.name()).output() == Precision.HALF
                        && network.graph().node(place.name()).vertex() instanceof ElementWiseVertex elements
                        && COMBINE_WITH_GRADIENTS.contains(elements.getOp())
                ? Optional.of(new FloatBackwardVertex(master))
                : Optional.empty();
    }

    /**
     * The wrapper of a vertex over HALF inputs that combines them with its gradient, as a product does. The gradient is
     * FLOAT outside of steps, and DL4J doesn't broadcast arrays of one type into those of another. There the vertex is
     * given its inputs in FLOAT.
     */
    private static final class FloatBackwardVertex extends DelegatingVertex {
        private static final long serialVersionUID = 1L;

        FloatBackwardVertex(GraphVertex master) {
            super(master);
        }

        @Override
        public Pair<Gradient, INDArray[]> doBackward(boolean tbptt, LayerWorkspaceMgr workspaceMgr) {
            INDArray epsilon = getEpsilon();
            INDArray[] inputs = getInputs();
            if (!canDoBackward() || epsilon.dataType() != DataType.FLOAT) {
                return super.doBackward(tbptt, workspaceMgr);
            }
            INDArray[] inFloat = new INDArray[inputs.length];
            for (int i = 0; i < inputs.length; i++) {
                inFloat[i] = Casting.ND4J.cast(inputs[i], DataType.FLOAT, workspaceMgr, ArrayType.BP_WORKING_MEM);
            }
            setInputs(inFloat);
            try {
                return super.doBackward(tbptt, workspaceMgr);
            } finally {
                setInputs(inputs);
            }
        }
    }
}
