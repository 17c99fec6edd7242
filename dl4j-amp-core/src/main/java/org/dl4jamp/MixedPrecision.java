package org.dl4jamp;

import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.ObjIntConsumer;
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
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.install.EnabledNetwork;
import org.dl4jamp.install.Healer;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.LayerObserver;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.Skip;

/**
 * Mixed precision for a network that exists already. Its FP32 parameters become the master weights, and suitable layers
 * compute in half precision. The loss is scaled, and a step whose gradients overflow is skipped.
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
 * Micikevicius et al., Mixed Precision Training, 2018. As thread-safe as DL4J's networks: several threads may train
 * several networks, and {@link #close()} waits for those that use its network.
 */
public final class MixedPrecision implements AutoCloseable {
    private volatile EnabledNetwork enabled;

    private MixedPrecision(AmpNetwork network, AmpConfig config) {
        Healer healer = Healer.of(config);
        enabled = EnabledNetwork.enable(this, network, config);
        healer.begin(() -> enabled, settings -> enabled = enabled.change(settings));
    }

    /**
     * As {@link #enable(Model, AmpConfig)}, with the settings that the network's configuration carries, or the
     * defaults.
     */
    public static MixedPrecision enable(Model network) {
        return enable(network, carried(network));
    }

    private static AmpConfig carried(Model network) {
        return CarriedConfig.of(AmpNetwork.of(network).model()).orElseGet(AmpConfig::defaults);
    }

    /**
     * As {@link #enable(Model, AmpConfig)}, for a network that was saved with mixed precision: goes on from the saved
     * state.
     *
     * @throws AmpException also if the loss scaler can't have the saved state; the network is then as it was
     */
    public static MixedPrecision enable(Model network, AmpState state) {
        AmpException.ifNull(state, "state", "an AmpState, such as one that MixedPrecision.state() returned");
        synchronized (AmpNetwork.of(network).model()) {
            MixedPrecision amp = enable(network, state.config());
            amp.enabled.restore(state);
            return amp;
        }
    }

    /**
     * Enables mixed precision on a network, a MultiLayerNetwork or a ComputationGraph.
     *
     * @throws AmpException if it can't be done, with the reason; the network is then as it was. Reasons: the network is
     *     of another kind, not initialized, closed or enabled already, its parameters aren't FLOAT, or its optimization
     *     algorithm isn't SGD. There is no such engine, or it can't compute in the precision. A rule matches no layer,
     *     or a setting doesn't go with the network, or needs a module that isn't there. A listener calls it within a
     *     pass of the network
     */
    public static MixedPrecision enable(Model network, AmpConfig config) {
        AmpException.ifNull(config, "config", "an AmpConfig, such as AmpConfig.defaults()");
        AmpNetwork view = AmpNetwork.of(network);
        NetworkCall.refuseInPass("MixedPrecision.enable", network);
        synchronized (network) {
            return new MixedPrecision(view, config);
        }
    }

    /** As {@link #inference(Model, AmpConfig)}, with the settings that the configuration carries, or the defaults. */
    public static InferenceMode inference(Model network) {
        return InferenceMode.begin(network, carried(network));
    }

    /**
     * Lets a network infer in mixed precision at full speed: weights are rounded and arranged once, and nothing is kept
     * for a backward pass.
     *
     * @param config precision, engine, opt level and rules; of O3 nothing but the layers' precision counts
     * @return closes it; the network is then as it was
     * @throws AmpException if it can't be done, with the reason; the network is then as it was. Reasons: the network is
     *     of another kind, not initialized, enabled or in inference mode already, or its parameters aren't FLOAT. The
     *     settings have a loss scaler or a gradient penalty, or accumulate, clip or measure gradients, which inference
     *     has no use for. There is no such engine, or it can't compute in the precision. A rule matches no layer. A
     *     listener calls it within a pass of the network
     */
    public static InferenceMode inference(Model network, AmpConfig config) {
        return InferenceMode.enter(network, config);
    }

    /** Returns the mixed precision of a network, empty if it isn't enabled. */
    public static Optional<MixedPrecision> of(Model network) {
        return EnabledNetwork.ownerOf(AmpNetwork.of(network)).map(MixedPrecision.class::cast);
    }

    /**
     * Returns the network's own layer, whose parameters are the master weights. For programs that need that very
     * object: an enabled network returns objects of the same class that pass calls on to it.
     *
     * @param layer from {@code getLayer()}, {@code getLayers()} or {@code getOutputLayer()}; may be null
     * @return the layer itself if it's a network's own
     */
    public static Layer master(Layer layer) {
        return StandIn.behind(layer) instanceof TwinLayer wrapper ? wrapper.master() : layer;
    }

    /**
     * Returns a copy of a configuration that carries settings of mixed precision: through {@code toJson}, YAML,
     * {@code clone} and saved models. {@link #network(MultiLayerConfiguration)}, {@link #enable(Model)} and listeners
     * without settings of their own use them; DL4J without dl4j-amp ignores them.
     *
     * @throws AmpException if the settings hold a rule by predicate or a loss scaler of the user's own, which can't be
     *     written
     */
    public static MultiLayerConfiguration configure(MultiLayerConfiguration configuration, AmpConfig config) {
        return CarriedConfig.attach(configuration, config);
    }

    /** As {@link #configure(MultiLayerConfiguration, AmpConfig)}, for a graph. */
    public static ComputationGraphConfiguration configure(
            ComputationGraphConfiguration configuration, AmpConfig config) {
        return CarriedConfig.attach(configuration, config);
    }

    /** Builds and initializes a network and enables mixed precision, which {@link #of} returns. */
    public static MultiLayerNetwork network(MultiLayerConfiguration configuration) {
        MultiLayerNetwork network =
                new MultiLayerNetwork(AmpException.ifNull(configuration, "configuration", "a MultiLayerConfiguration"));
        network.init();
        enable(network);
        return network;
    }

    /** As {@link #network(MultiLayerConfiguration)}, for a graph. */
    public static ComputationGraph network(ComputationGraphConfiguration configuration) {
        ComputationGraph graph = new ComputationGraph(
                AmpException.ifNull(configuration, "configuration", "a ComputationGraphConfiguration"));
        graph.init();
        enable(graph);
        return graph;
    }

    /** Returns the settings in force, with the changes of {@link AmpConfig.Builder#selfHealing}. */
    public AmpConfig config() {
        return enabled.settings().config();
    }

    /** Returns the precision of each layer, with the reason. */
    public PrecisionPlan plan() {
        return enabled.plan();
    }

    /** Returns the precision of the layers in lower precision; never AUTO. */
    public Precision precision() {
        return plan().precision();
    }

    /** Returns the name of the engine in use. */
    public String engine() {
        return enabled.engineName();
    }

    /** Returns the scaler in use: a copy of the settings', the very one if it's shared, or the precision's default. */
    public LossScaler lossScaler() {
        return enabled.settings().scaler();
    }

    /** Returns the factor by which the loss of the next step is multiplied. */
    public double lossScale() {
        return lossScaler().scale();
    }

    /** Returns how many steps have updated the parameters, with accumulation one for each group of micro-batches. */
    public long stepsTaken() {
        return enabled.step().counts().taken();
    }

    /** Returns how many steps of DL4J's optimizer were skipped because something wasn't finite. */
    public long stepsSkipped() {
        return enabled.step().counts().skipped();
    }

    /**
     * Returns the Euclidean norm of the last step's gradients over the whole network, before clipping. They are true
     * FP32 gradients, means over the examples of the effective batch, without L1 and L2, with a gradient penalty's.
     * Running statistics of batch normalization aren't gradients. A skipped step leaves it as it was.
     *
     * @return empty before the first step that counted, and without {@link AmpConfig.Builder#measureGradientNorm},
     *     {@link AmpConfig.Builder#clipGradientNorm} or {@link AmpConfig.Builder#accumulate(int)} of 2 or more
     */
    public OptionalDouble gradientNorm() {
        return enabled.step().gradientNorm();
    }

    /**
     * Has an observer called with each backward pass that is skipped from now on, and the number of iterations before
     * it. That is in the thread that trains, while the network has the batch and its gradients.
     */
    public void onSkip(ObjIntConsumer<Skip> observer) {
        enabled.step().observers().onSkip(AmpException.ifNull(observer, "observer", "what is called with each Skip"));
    }

    /** Has an observer called with the arrays between layers in each step, until what is returned is run. */
    public Runnable observeLayers(LayerObserver observer) {
        return enabled.step().observers().onLayers(AmpException.ifNull(observer, "observer", "what is called"));
    }

    /**
     * Makes a step of the micro-batches that wait for more of {@link AmpConfig.Builder#accumulate(int)}, as the end of
     * an epoch does with {@link PartialGroup#APPLY}. The network's count of iterations stays.
     *
     * @return whether any were waiting
     * @throws AmpException if mixed precision is closed, or it's called within a pass of the network
     */
    public boolean applyPartialGroup() {
        return enabled.applyPartialGroup();
    }

    /**
     * Returns what has to be saved beside the network to go on from here, see {@link #enable(Model, AmpState)}. It has
     * a copy of gradients that wait for more micro-batches, also after {@link #close()}, which makes no step of them.
     */
    public AmpState state() {
        return enabled.state();
    }

    /**
     * Lets the network compute in FP32, with DL4J's own layers, until the pause is closed:
     *
     * <pre>
     * try (Pause fp32 = amp.pause()) {
     *     net.evaluate(iterator);
     * }
     * </pre>
     *
     * <p>That goes for {@code output} and training, and for all threads. Steps are counted as ever; accumulation,
     * clipping, a gradient penalty and the skipping of what isn't finite stay in force. The loss isn't scaled.
     * Recurrent state is kept. A pause costs the exchange of the layers. Of nested pauses the outermost one counts.
     *
     * @return closes it, in the thread that has called this
     * @throws AmpException within a pass, if another thread's pause isn't over, or if mixed precision is closed
     */
    public Pause pause() {
        return new Pause(enabled.pauses().begin());
    }

    /** Returns whether there is a {@linkplain #pause() pause} that isn't over. */
    public boolean isPaused() {
        return enabled.pauses().areThereAny();
    }

    /** Returns whether {@link #close()} has been called. */
    public boolean isClosed() {
        return enabled.isRemoved();
    }

    /**
     * Puts the network back as it was, only trained: the same layer objects, with the current parameters and updater
     * state. Waits for other threads' calls of the network, and ends pauses. Layers that a program took from the
     * network meanwhile compute no more.
     *
     * @throws AmpException within a pass of the network; nothing has changed then
     */
    @Override
    public void close() {
        enabled.remove();
    }
}
