package org.dl4jamp;

import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.install.InferenceInstallation;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A network that infers in mixed precision and isn't trained meanwhile. Weights are rounded, and reordered for the
 * engine's kernels, once and not in each pass.
 *
 * <pre>
 * try (InferenceMode mode = MixedPrecision.inference(net)) {
 *     INDArray probabilities = net.output(features);
 *     System.out.println(mode.plan());
 * }
 * </pre>
 *
 * <p>It's the network itself that is fast meanwhile: {@code output}, {@code evaluate}, {@code rnnTimeStep},
 * {@code feedForward(false)} and {@code score(dataSet)}. Parameters and updater aren't touched. {@link #close()} puts
 * the network's own layers back.
 *
 * <p><b>Parameters that change meanwhile.</b> What is set by a layer's {@code setParam} and {@code setParams}, or by
 * the network's {@code setParam}, counts in the next pass. Other changes, such as by the network's {@code setParams} or
 * by training of another network in the same memory, are found by a sample. It's 64 numbers of each parameter array,
 * evenly spaced, or all if there aren't more; a change of it counts in the next pass. So a new set of numbers counts at
 * once. Call {@link #refresh()} after a change of a few numbers in place, such as some rows of an embedding.
 *
 * <p>Training throws an {@link AmpException}: {@code fit}, {@code computeGradientAndScore}, {@code calculateGradients},
 * {@code backpropGradient}, {@code feedForward(true)}, {@code output(x, true)}.
 *
 * <p>Methods that return activations of single layers, such as {@code feedForward}, {@code activateSelectedLayers} or a
 * graph's {@code output(layers, ...)}, compute layer by layer. So do passes with a mask in a group of layers.
 *
 * <p>As thread-safe as DL4J's networks are: several threads may call {@code output}. Each pass is computed by one set
 * of layers from its first to its last, also while another thread enters or closes the mode.
 */
public final class InferenceMode implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(InferenceMode.class);

    private final AmpNetwork network;
    private final AmpConfig config;
    private final InferenceInstallation installation;

    private InferenceMode(AmpNetwork network, AmpConfig config) {
        this.network = network;
        this.config = config;
        this.installation = InferenceInstallation.enter(this, network, config);
        LOG.debug("Inference mode is on: {} on engine \"{}\", since {}", plan().precision(), engine(), plan().note());
    }

    static InferenceMode enter(Model network, AmpConfig config) {
        AmpException.ifNull(config, "config", "an AmpConfig, such as AmpConfig.defaults()");
        config.lossScaler().ifPresent(scaler -> refuse(true, "lossScaler(" + scaler + ")", "no loss is scaled"));
        String why = "there is no gradient";
        config.gradientPenalty().ifPresent(penalty -> refuse(true, "gradientPenalty(" + penalty + ")", why));
        refuse(config.accumulate() > 1, "accumulate(" + config.accumulate() + ")", why);
        refuse(config.layerScales(), "layerScales(true)", why);
        refuse(config.selfHealing(), "selfHealing(true)", why);
        config.clipGradientNorm().ifPresent(norm -> refuse(true, "clipGradientNorm(" + norm + ")", why));
        config.clipGradientValue().ifPresent(value -> refuse(true, "clipGradientValue(" + value + ")", why));
        refuse(config.measuresGradientNorm(), "measureGradientNorm(true)", why);
        return begin(network, config);
    }

    private static void refuse(boolean isSet, String setting, String why) {
        if (isSet) {
            throw new AmpException("config: " + setting + " is for training; in inference mode " + why
                    + ". Leave it out of the settings that MixedPrecision.inference is given");
        }
    }

    /** Enters inference mode with settings that may be those of training. */
    static InferenceMode begin(Model network, AmpConfig config) {
        AmpNetwork view = AmpNetwork.of(network);
        NetworkCall.refuseInPass("MixedPrecision.inference", network);
        synchronized (network) {
            return new InferenceMode(view, config);
        }
    }

    /**
     * Returns the inference mode that a network is in, empty if it's in none.
     *
     * @throws AmpException if it's neither a MultiLayerNetwork nor a ComputationGraph
     */
    public static Optional<InferenceMode> of(Model network) {
        return InferenceInstallation.ownerOf(AmpNetwork.of(network)).map(InferenceMode.class::cast);
    }

    /** Returns the settings in force. */
    public AmpConfig config() {
        return config;
    }

    /** Returns the precision of each layer with the reason, and the groups that are computed at once. */
    public PrecisionPlan plan() {
        return installation.plan();
    }

    /** Returns the name of the engine in use. */
    public String engine() {
        return installation.engineName();
    }

    /**
     * Returns what the network's own {@code output} returns: the same numbers, in an array outside of workspaces. Small
     * networks and single examples take less time, because no code of DL4J's goes from layer to layer.
     *
     * <p>It's done where a MultiLayerNetwork or ComputationGraph of DL4J's own class is computed by the engine
     * {@code onednn} as a whole, from the fourth pass of a shape on. All other passes are the network's own.
     *
     * @param features of a minibatch, as the network takes them
     * @throws AmpException if the mode is closed, or the network has several inputs or outputs
     */
    public INDArray output(INDArray features) {
        AmpException.ifNull(features, "features", "the features of a minibatch");
        // As DL4J's own output: another thread's pass may have set the last layer's input already.
        synchronized (network.model()) {
            if (isClosed()) {
                throw new AmpException("This InferenceMode is closed. Call the network's own output, or enter it again"
                        + " by MixedPrecision.inference");
            }
            return installation.output(features).orElseGet(() -> network.output(features));
        }
    }

    /** Has all weights made anew of the parameters before the next pass. May be called by any thread. */
    public void refresh() {
        installation.markStale();
    }

    /** Returns whether {@link #close()} has been called. */
    public boolean isClosed() {
        return installation.isRemoved();
    }

    /**
     * Puts the network's own layers back. Waits for other threads' passes, an {@code output} for example. Layers that a
     * program took from the network meanwhile compute no more.
     *
     * @throws AmpException if it's called within a pass of the network, by a listener's {@code onForwardPass} for
     *     example; nothing has changed then
     */
    @Override
    public void close() {
        installation.remove();
    }
}
