package org.dl4jamp.listeners;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.ref.WeakReference;
import java.util.Optional;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.ServesOneNetwork;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Turns on mixed precision for the network that it listens to, when training starts:
 *
 * <pre>
 * net.setListeners(new AmpListener(), new ScoreIterationListener(10));
 * net.fit(iterator, epochs);
 * </pre>
 *
 * <p>With {@code fit(iterator)} every iteration is in mixed precision. {@code fit(DataSet)} doesn't notify listeners
 * before its first iteration: the first is in FP32 and the others are in mixed precision. A network that has mixed
 * precision already keeps it as it is, and settings of this listener that differ are ignored with a warning. A network
 * whose {@link MixedPrecision} was closed while it had this listener stays without, until it's enabled again. Layerwise
 * pretraining is DL4J's, in FP32.
 *
 * <p>Logs one line at INFO when it attaches, and skipped steps at INFO, at most one line in ten seconds.
 *
 * <p>Serves one network at a time and, like DL4J's own listeners, one thread. It can't serve the replicas of a
 * {@code ParallelWrapper}: {@code AmpReplicas} of dl4j-amp-parallel does that, beside which it serves the wrapper's
 * network. Serializable: its settings travel, and the copy serves no network yet.
 *
 * <p>DL4J's training on Spark ({@code spark.setListeners}) is refused when {@code fit} sends its listeners to the
 * executors. {@code SparkAmp} of dl4j-amp-spark is for that.
 */
public class AmpListener extends BaseTrainingListener implements ServesOneNetwork, Serializable {
    private static final long serialVersionUID = 1L;

    private static final Logger LOG = LoggerFactory.getLogger(AmpListener.class);

    private final AmpConfig config;
    private transient WeakReference<Model> served = new WeakReference<>(null);
    private transient MixedPrecision amp;
    private transient StepReport report;

    /** Takes the settings that the network's configuration carries, otherwise the defaults. */
    public AmpListener() {
        this.config = null;
    }

    /** Takes these settings, whatever the network's configuration carries. */
    public AmpListener(AmpConfig config) {
        this.config = AmpException.ifNull(
                config, "config", "an AmpConfig, or none at all for that of the network or the defaults");
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
        if (isSentByTrainingOnSpark()) {
            throw new AmpException(
                    "AmpListener: spark.setListeners would send it to Spark's tasks, where it can't enable mixed"
                            + " precision"
                            + " before a task's first step. Leave it out, and use dl4j-amp-spark:"
                            + " ParameterAveragingTrainingMaster.Builder"
                            + ".trainingHooks(SparkAmp.on(sparkContext).hook()), or,"
                            + " with a SharedTrainingMaster,"
                            + " spark.setListeners(List.of(SparkAmp.on(sparkContext).listener()))."
                            + " Settings go to SparkAmp.on(sparkContext, config)");
        }
        out.defaultWriteObject();
    }

    /**
     * Returns whether DL4J's training on Spark serializes this listener. Spark serializes a task's function for the
     * first time in the thread that calls {@code fit}, before any task runs. A program's own Spark functions may take
     * listeners along: these serve whole networks.
     */
    private static boolean isSentByTrainingOnSpark() {
        return StackWalker.getInstance()
                .walk(frames -> frames.anyMatch(frame -> frame.getClassName().startsWith("org.deeplearning4j.spark.")));
    }

    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
        in.defaultReadObject();
        served = new WeakReference<>(null);
    }

    /**
     * Returns the mixed precision of the network that this listener serves: plan, loss scale and counters.
     *
     * @return empty before training starts
     */
    public Optional<MixedPrecision> mixedPrecision() {
        return Optional.ofNullable(amp);
    }

    /**
     * Attaches before the first iteration of {@code fit(iterator)}.
     *
     * @throws AmpException if the network can't be trained in mixed precision
     */
    @Override
    public void onEpochStart(Model model) {
        attach(model);
    }

    /**
     * Attaches after the first iteration of {@code fit(DataSet)}, and reports steps that were skipped.
     *
     * @throws AmpException if the network can't be trained in mixed precision
     */
    @Override
    public void iterationDone(Model model, int iteration, int epoch) {
        boolean attached = attach(model);
        if (!attached && model == served.get()) {
            report.stepDone(iteration, amp.stepsSkipped(), amp.lossScale());
        }
    }

    /** Returns whether it wasn't attached to this mixed precision before. */
    private boolean attach(Model model) {
        AmpException.ifNull(model, "model", "the network that is trained");
        if (isLayerOfNetwork(model) || (model == served.get() && !amp.isClosed())) {
            return false;
        }
        Optional<MixedPrecision> present = MixedPrecision.of(model);
        if (model == served.get() && present.isEmpty()) {
            return false;
        }
        amp = present.orElseGet(
                () -> config == null ? MixedPrecision.enable(model) : MixedPrecision.enable(model, config));
        served = new WeakReference<>(model);
        report = new StepReport(LOG, System::nanoTime, amp.stepsSkipped(), amp.lossScale());
        LOG.info(AttachReport.of(amp, model instanceof ComputationGraph, present.isPresent()));
        if (present.isPresent()
                && config != null
                && !config.toString().equals(amp.config().toString())) {
            LOG.warn(
                    "The settings of this AmpListener, {}, are ignored: the network is in mixed precision already,"
                            + " with {}."
                            + " Give them where it's enabled first, or close() that mixed precision and enable it"
                            + " with these",
                    config,
                    amp.config());
        }
        return true;
    }

    /**
     * Returns whether a model is one layer of the network. DL4J notifies a network's listeners of each layer that it
     * pretrains as if that were the model. Pretraining is in FP32.
     */
    private static boolean isLayerOfNetwork(Model model) {
        return model instanceof Layer && !(model instanceof MultiLayerNetwork);
    }
}
