package org.dl4jamp;

import java.util.Optional;
import java.util.OptionalDouble;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.CarriedConfig;
import org.dl4jamp.config.PartialGroup;
import org.dl4jamp.dl4j.PassInProgress;
import org.dl4jamp.install.Installation;
import org.dl4jamp.install.Owners;
import org.dl4jamp.install.Pauses;
import org.dl4jamp.install.Preconditions;
import org.dl4jamp.install.ResolvedConfig;
import org.dl4jamp.install.SavedStep;
import org.dl4jamp.install.Uninstallation;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.step.ScaleUpdates;
import org.dl4jamp.step.TrainingStep;

/**
 * Mixed precision for a network that exists already: its FP32 parameters become the master weights, suitable layers
 * compute in half precision, the loss is scaled, and a step whose gradients overflow is skipped.
 *
 * <pre>
 * try (MixedPrecision amp = MixedPrecision.enable(net)) {
 *     net.fit(iterator, epochs);
 *     System.out.println(amp.plan());
 * }
 * </pre>
 *
 * <p>Everything else in the program stays as it is: {@code fit}, {@code output}, {@code evaluate}, listeners,
 * schedules, saving. While enabled, {@code getLayer()} returns objects of the layers' classes that stand for them.
 * {@link #close()} puts the network back as it was, only trained.
 *
 * <p>The counterpart of PyTorch's {@code torch.autocast} together with {@code torch.amp.GradScaler}. Method:
 * Micikevicius et al., Mixed Precision Training, 2018. As thread-safe as DL4J's networks are: several networks may be
 * trained by several threads, and {@link #close()} waits for those that use its network.
 */
public final class MixedPrecision implements AutoCloseable {
    private final ResolvedConfig resolved;
    private final TrainingStep step;
    private final Installation installation;
    private final Uninstallation removal;
    private final Pauses pauses;

    private MixedPrecision(AmpNetwork network, AmpConfig config) {
        Preconditions.check(network);
        this.resolved = ResolvedConfig.of(config, network.graph());
        ScaleUpdates scale = resolved.scaleUpdates(network);
        this.step = new TrainingStep(
                this, network, scale, config.maxConsecutiveSkips(), resolved.gradientTerms(network.model()));
        scale.factor();
        GradientScale gradientScale = new GradientScale(scale::factor, resolved.hasHalfGradients());
        this.installation = new Installation(network, resolved.plan(), gradientScale, step);
        this.removal = new Uninstallation("MixedPrecision.close", network.model(), step.gate(), this::remove);
        installation.install(resolved.engine().engine(), resolved.masterWeights());
        resolved.announce();
        this.pauses = new Pauses(step, scale, installation);
    }

    /**
     * Enables mixed precision with the settings that the network's configuration carries, or the defaults.
     *
     * @param network a MultiLayerNetwork or a ComputationGraph
     * @throws AmpException as {@link #enable(Model, AmpConfig)}
     */
    public static MixedPrecision enable(Model network) {
        return enable(network, CarriedConfig.of(AmpNetwork.of(network).model()).orElseGet(AmpConfig::defaults));
    }

    /**
     * Enables mixed precision on a network that was saved with it, and goes on from the saved state.
     *
     * @param network a MultiLayerNetwork or a ComputationGraph
     * @throws AmpException as {@link #enable(Model, AmpConfig)}, or if the loss scaler can't have the saved state; the
     *     network is then as it was
     */
    public static MixedPrecision enable(Model network, AmpState state) {
        AmpException.ifNull(state, "state", "an AmpState, such as one that MixedPrecision.state() returned");
        synchronized (AmpNetwork.of(network).model()) {
            MixedPrecision amp = enable(network, state.config());
            amp.restore(state);
            return amp;
        }
    }

    private void restore(AmpState state) {
        try {
            SavedStep.restore(state, resolved, step);
        } catch (AmpException e) {
            close();
            throw e;
        }
    }

    /**
     * Enables mixed precision on a network.
     *
     * @param network a MultiLayerNetwork or a ComputationGraph
     * @throws AmpException if it can't be done, with the reason; the network is then as it was. Reasons: the network is
     *     of another kind or isn't initialized, its parameters aren't FLOAT, its optimization algorithm isn't SGD, it's
     *     closed, mixed precision is enabled already, there is no such engine or it can't compute in the precision, a
     *     rule matches no layer, a setting doesn't go with the network, or a listener calls it within a pass of the
     *     network
     */
    public static MixedPrecision enable(Model network, AmpConfig config) {
        AmpException.ifNull(config, "config", "an AmpConfig, such as AmpConfig.defaults()");
        AmpNetwork view = AmpNetwork.of(network);
        PassInProgress.refuse("MixedPrecision.enable", network);
        synchronized (network) {
            return new MixedPrecision(view, config);
        }
    }

    /**
     * Has a network infer in mixed precision, with the settings that its configuration carries, or the defaults.
     *
     * @param network a MultiLayerNetwork or a ComputationGraph
     * @throws AmpException as {@link #inference(Model, AmpConfig)}
     */
    public static InferenceMode inference(Model network) {
        return InferenceMode.enter(network);
    }

    /**
     * Has a network infer in mixed precision, at full speed: weights are rounded and arranged once, and nothing is kept
     * for a backward pass.
     *
     * @param network a MultiLayerNetwork or a ComputationGraph
     * @param config precision, engine, opt level and rules; of O3 nothing but the layers' precision counts
     * @return closes it; the network is then as it was
     * @throws AmpException if it can't be done, with the reason; the network is then as it was. Reasons: the network is
     *     of another kind or isn't initialized, its parameters aren't FLOAT, mixed precision is enabled on it, or it's
     *     in inference mode already, the settings have a loss scaler, a gradient penalty, or accumulate, clip or
     *     measure gradients, which inference has no use for, there is no such engine or it can't compute in the
     *     precision, a rule matches no layer, or a listener calls it within a pass of the network
     */
    public static InferenceMode inference(Model network, AmpConfig config) {
        return InferenceMode.enter(network, config);
    }

    /** The mixed precision of a network, empty if it isn't enabled. */
    public static Optional<MixedPrecision> of(Model network) {
        return Owners.ofTraining(AmpNetwork.of(network))
                .map(TrainingStep::owner)
                .map(MixedPrecision.class::cast);
    }

    /**
     * The network's own layer, whose parameters are the master weights, behind what an enabled network hands out in its
     * place. What is handed out has the layer's class and answers like it; this is for programs that want the very
     * object.
     *
     * @param layer what {@code getLayer()}, {@code getLayers()} or {@code getOutputLayer()} has returned; may be null
     * @return the layer itself if it's a network's own
     */
    public static Layer master(Layer layer) {
        return StandIn.behind(layer) instanceof TwinLayer wrapper ? wrapper.master() : layer;
    }

    /**
     * A copy of a configuration that carries settings of mixed precision: through {@code toJson}, YAML, {@code clone}
     * and saved models. DL4J without dl4j-amp ignores them; {@link #network(MultiLayerConfiguration)},
     * {@link #enable(Model)} and listeners without settings of their own take them.
     *
     * @throws AmpException if the settings hold a rule by predicate or a loss scaler of the user's own, which can't be
     *     written
     */
    public static MultiLayerConfiguration configure(MultiLayerConfiguration configuration, AmpConfig config) {
        return CarriedConfig.attach(configuration, config);
    }

    /**
     * A copy of a graph's configuration that carries settings of mixed precision.
     *
     * @see #configure(MultiLayerConfiguration, AmpConfig)
     */
    public static ComputationGraphConfiguration configure(
            ComputationGraphConfiguration configuration, AmpConfig config) {
        return CarriedConfig.attach(configuration, config);
    }

    /**
     * Builds and initializes a network and enables mixed precision with the settings that the configuration carries, or
     * the defaults. Its handle, with plan, counters and {@link #close()}, is
     * {@code MixedPrecision.of(network).orElseThrow()}.
     */
    public static MultiLayerNetwork network(MultiLayerConfiguration configuration) {
        MultiLayerNetwork network =
                new MultiLayerNetwork(AmpException.ifNull(configuration, "configuration", "a MultiLayerConfiguration"));
        network.init();
        enable(network);
        return network;
    }

    /**
     * Builds and initializes a graph and enables mixed precision with the settings that the configuration carries, or
     * the defaults.
     *
     * @see #network(MultiLayerConfiguration)
     */
    public static ComputationGraph network(ComputationGraphConfiguration configuration) {
        ComputationGraph graph = new ComputationGraph(
                AmpException.ifNull(configuration, "configuration", "a ComputationGraphConfiguration"));
        graph.init();
        enable(graph);
        return graph;
    }

    /** The settings in force. */
    public AmpConfig config() {
        return resolved.config();
    }

    /** Which layer runs in which precision, and why. */
    public PrecisionPlan plan() {
        return resolved.plan();
    }

    /** The precision of the layers in lower precision; never AUTO. */
    public Precision precision() {
        return plan().precision();
    }

    /** The name of the engine in use. */
    public String engine() {
        return resolved.engineName();
    }

    /**
     * The scaler in use: a copy of that of the settings, or that very one if it's shared, the precision's default, or
     * one that scales nothing if no layer computes in half precision.
     */
    public LossScaler lossScaler() {
        return resolved.scaler();
    }

    /** By how much the loss of the next step is scaled. */
    public double lossScale() {
        return lossScaler().scale();
    }

    /**
     * Returns how many steps have updated the parameters: those of DL4J's optimizer, with accumulation one for each
     * group of micro-batches. Calls of the updater by hand aren't counted.
     */
    public long stepsTaken() {
        return step.counts().taken();
    }

    /** Returns how many steps of DL4J's optimizer were skipped because something wasn't finite. */
    public long stepsSkipped() {
        return step.counts().skipped();
    }

    /**
     * The Euclidean norm of the last step's gradients over the whole network, before clipping: of the true FP32
     * gradients of the effective batch, means over its examples, without L1 and L2. With a gradient penalty its
     * gradient is included. Running statistics of batch normalization aren't gradients.
     *
     * @return empty before the first step that counted; one that was skipped leaves it as it was. Empty, too, after a
     *     step whose norm nobody needed: unless the settings have {@link AmpConfig.Builder#measureGradientNorm},
     *     {@link AmpConfig.Builder#clipGradientNorm} or {@link AmpConfig.Builder#accumulate(int)} of 2 or more: with
     *     ND4J's operations a norm takes longer than looking for what isn't finite
     */
    public OptionalDouble gradientNorm() {
        return step.gradientNorm();
    }

    /**
     * Makes a step of the micro-batches that wait for more of {@link AmpConfig.Builder#accumulate(int)}, as the end of
     * an epoch does with {@link PartialGroup#APPLY}: for programs that have epochs of their own. The network's count of
     * iterations stays.
     *
     * @return whether any were waiting
     * @throws AmpException if mixed precision is closed, or it's called within a pass of the network
     */
    public boolean applyPartialGroup() {
        PassInProgress.refuse("MixedPrecision.applyPartialGroup", step.network());
        synchronized (step.network()) {
            if (isClosed()) {
                throw new AmpException(
                        "applyPartialGroup: this mixed precision is closed, and its network trains without;"
                                + " call it before close(), or ask MixedPrecision.of(network) for the one in force");
            }
            return step.applyGroup();
        }
    }

    /**
     * Returns what has to be saved beside the network to go on from here, see {@link #enable(Model, AmpState)}. If
     * micro-batches wait for more, with {@link AmpConfig.Builder#accumulate(int)}, a copy of their gradients is part of
     * it, also after {@link #close()}, which makes no step of them.
     */
    public AmpState state() {
        return SavedStep.of(resolved, step);
    }

    /**
     * Has the network compute in FP32, with DL4J's own layers, until the pause is closed:
     *
     * <pre>
     * try (Pause fp32 = amp.pause()) {
     *     net.evaluate(iterator);
     * }
     * </pre>
     *
     * <p>That goes for {@code output} and for training alike, and for all threads. Steps are counted as outside of it,
     * by the network, its updater and {@link #stepsTaken()}; accumulation, clipping, a gradient penalty and the
     * skipping of what isn't finite stay as they are, since they aren't a matter of precision. Only the loss isn't
     * scaled, so the scaler doesn't hear of them. Recurrent state goes along. Nothing is planned or made anew, and the
     * engine keeps its memory: a pause costs the exchange of the layers. Pauses may be nested; the outermost one
     * counts. To keep layers in FP32 for good there is {@link AmpConfig.Builder#keepFull(String)}.
     *
     * @return closes it, in the thread that has called this
     * @throws AmpException if mixed precision is closed, if another thread has begun a pause that isn't over, or if
     *     it's called within a pass of the network; nothing has changed then
     */
    public Pause pause() {
        return new Pause(pauses.begin());
    }

    /** Returns whether there is a {@linkplain #pause() pause} that isn't over. */
    public boolean isPaused() {
        return pauses.areThereAny();
    }

    /** Returns whether {@link #close()} has been called. */
    public boolean isClosed() {
        return removal.isDone();
    }

    /**
     * Puts the network back as it was, only trained: the same layer objects, with the parameters and updater state of
     * now. Waits for what other threads do with the network, a {@code fit} or {@code output} for example. Ends pauses,
     * too. Layers of the network that somebody kept compute no more.
     *
     * @throws AmpException if it's called within a pass of the network, by a listener's {@code onForwardPass} for
     *     example; nothing has changed then
     */
    @Override
    public void close() {
        removal.run();
    }

    private void remove() {
        pauses.end();
        installation.remove();
    }
}
