package org.dl4jamp.step;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.dl4jamp.AmpException;
import org.dl4jamp.dl4j.HookedUpdater;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.layer.LossScalingLayer;
import org.dl4jamp.layer.StepGuard;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.twin.Gate;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides in each training step whether it counts. A step with a non-finite gradient or loss is skipped: its gradients become zero, and
 * parameters, updater state and running statistics stay as they were. If the loss was finite the scale was too large, and the scaler hears of
 * an overflow; otherwise the scale isn't to blame and stays.
 */
public final class TrainingStep implements StepGuard {
    private static final Logger LOG = LoggerFactory.getLogger(TrainingStep.class);

    private final Object owner;
    private final AmpNetwork network;
    private final LossScaler scaler;
    private final int maxConsecutiveSkips;
    private final Culprit culprit;
    private final InstalledUpdater updater;
    private final Gate gate = new Gate();
    private final Map<LossScalingLayer, INDArray> labels = new LinkedHashMap<>();
    private StepKernels kernels = StepKernels.nd4j();
    private StepCounts counts = StepCounts.NONE;
    private final SkipWarnings warnings = new SkipWarnings(LOG, System::nanoTime);
    private StepCounts callsByHand = StepCounts.NONE;
    private boolean skippedLast;
    private OptimizerIterations iterations = new OptimizerIterations();
    private final Optional<PenalizedGradient> penalized;

    /**
     * @param owner whose step this is
     * @param network what is trained
     * @param scaler hears what becomes of each step
     * @param maxConsecutiveSkips after how many skipped steps in a row training stops
     * @param penalized adds a penalty to the gradients of a step, if there is one
     */
    public TrainingStep(
            Object owner,
            AmpNetwork network,
            LossScaler scaler,
            int maxConsecutiveSkips,
            Optional<PenalizedGradient> penalized) {
        this.owner = owner;
        this.network = network;
        this.scaler = scaler;
        this.maxConsecutiveSkips = maxConsecutiveSkips;
        this.penalized = penalized;
        this.culprit = new Culprit(network);
        this.updater = new InstalledUpdater(network, this::update);
    }

    /** Whose step this is, for whoever knows what that is. */
    public Object owner() {
        return owner;
    }

    /** The training step that an updater belongs to, empty if it's null or not one of a training step's. */
    public static Optional<TrainingStep> of(BaseMultiLayerUpdater<?> updater) {
        return HookedUpdater.hookOf(updater).filter(AmpUpdate.class::isInstance).map(hook -> ((AmpUpdate) hook).step());
    }

    /** The updater that this step has put into the network. */
    InstalledUpdater updater() {
        return updater;
    }

    /** The network that is trained. */
    public Model network() {
        return network.model();
    }

    public StepCounts counts() {
        return counts;
    }

    /** Goes on counting from there. */
    public void restore(StepCounts counts) {
        this.counts = counts;
        this.iterations = new OptimizerIterations();
    }

    /** Takes an engine's kernels, for updaters that are installed from now on, too. */
    public void use(StepKernels engines) {
        this.kernels = engines;
    }

    /** Puts this step's updater into the network, over the state of the one it finds there. */
    public void installUpdater() {
        updater.renew();
    }

    /** Gives the network its own updater back; see {@link InstalledUpdater#remove()}. */
    public void removeUpdater() {
        updater.remove();
    }

    /** What an updater of this step's does when it's called. */
    private AmpUpdate update(HookedUpdater hooked) {
        return new AmpUpdate(this, network, hooked, kernels);
    }

    @Override
    public void backwardBegins(LossScalingLayer output, INDArray batchLabels) {
        updater.putBack();
        labels.put(output, batchLabels);
    }

    @Override
    public boolean skippedLastStep() {
        return skippedLast;
    }

    @Override
    public Gate gate() {
        return gate;
    }

    /**
     * The iteration that DL4J's updater is told: without the skipped ones, so that Adam's bias correction and schedules don't advance.
     */
    int optimizerIteration() {
        return iterations.seen();
    }

    /**
     * Whether the updater may go on.
     *
     * <p>A call by anybody but DL4J's optimizer isn't a step: nobody counts it, and since nothing was scaled for it, the scaler doesn't hear of it.
     *
     * @param byOptimizer whether DL4J's optimizer has called it: then the network's score is the loss that the gradients belong to
     * @throws AmpException if too many steps in a row were skipped
     */
    boolean admits(Gradient gradient, int iteration, boolean byOptimizer) {
        iterations.begin(iteration, counts);
        INDArray gradients = gradient.gradient();
        double loss = byOptimizer ? network.model().score() : 0;
        WorkEvent event = WorkEvent.begin(WorkEvent.CHECK, "gradients");
        boolean finite = kernels.allFinite(gradients);
        event.commit();
        if (finite && Double.isFinite(loss)) {
            Optional<String> notFinite = byOptimizer ? penalize(gradients) : Optional.empty();
            if (notFinite.isEmpty()) {
                taken(byOptimizer);
                return true;
            }
            skipUnscaled(gradient, iteration, notFinite.get());
            return false;
        }
        if (byOptimizer) {
            skip(gradient, iteration, loss);
        } else {
            skipCallByHand(gradient, iteration);
        }
        return false;
    }

    /** What wasn't finite in the passes that a gradient penalty needs, if there is one. */
    private Optional<String> penalize(INDArray gradients) {
        return penalized.flatMap(penalty -> penalty.addTo(gradients, updater.present(), kernels));
    }

    /** Leaves a step out because of a pass that wasn't scaled: the scaler has nothing to learn from it. */
    private void skipUnscaled(Gradient gradient, int iteration, String notFinite) {
        Optional<String> first = culprit.amongParameters();
        leaveOut(gradient);
        counts = counts.afterSkipped();
        String what = notFinite + " weren't finite in iteration " + iteration;
        warnings.warn("Step skipped: " + what + "; the loss scale stays at " + scaler.scale());
        if (counts.consecutiveSkips() >= maxConsecutiveSkips) {
            throw new AmpException(stuck(
                    what, first, "They aren't scaled: try a smaller radius of the penalty, or a lower learning rate"));
        }
    }

    private void taken(boolean byOptimizer) {
        skippedLast = false;
        labels.clear();
        if (byOptimizer) {
            counts = counts.afterTaken();
            scaler.update(false);
        } else {
            callsByHand = StepCounts.NONE;
        }
    }

    private void skipCallByHand(Gradient gradient, int iteration) {
        Optional<String> first = culprit.amongParameters();
        callsByHand = callsByHand.afterSkipped();
        leaveOut(gradient);
        String what = "gradients that the updater was given by hand in iteration " + iteration + " aren't finite"
                + first.map(name -> ", first those of " + name).orElse("");
        LOG.warn("Update skipped: {}", what);
        if (callsByHand.consecutiveSkips() >= maxConsecutiveSkips) {
            throw new AmpException(
                    callsByHand.consecutiveSkips() + " updates in a row were skipped (maxConsecutiveSkips("
                            + maxConsecutiveSkips + ")): " + what
                            + ". They aren't scaled, so they wouldn't be finite in FP32 either: look at the"
                            + " features, the errors and the learning rate");
        }
    }

    private void leaveOut(Gradient gradient) {
        labels.clear();
        gradient.gradient().assign(0);
        iterations.skip();
        skippedLast = true;
    }

    private void skip(Gradient gradient, int iteration, double loss) {
        double scale = scaler.scale();
        Optional<String> badBatch = culprit.inBatch(labels.values());
        boolean overflow = badBatch.isEmpty() && Double.isFinite(loss);
        Optional<String> first = overflow ? culprit.amongParameters() : Optional.empty();
        leaveOut(gradient);
        counts = counts.afterSkipped();
        String what;
        if (badBatch.isPresent()) {
            what = badBatch.get() + " in the batch of iteration " + iteration;
            // As in stock DL4J. oneDNN's ReLU makes zero of NaN, and the loss a number.
            Score.set(network.model(), Double.NaN);
            warnings.warn("Step skipped: " + what + "; the loss scale stays at " + scale);
        } else if (!Double.isFinite(loss)) {
            what = "the loss of iteration " + iteration + " is " + loss + " at the finite loss scale " + scale
                    + ", with finite features and labels";
            warnings.warn("Step skipped: " + what + "; the loss scale stays");
        } else {
            scaler.update(true);
            what = "gradients overflowed in iteration " + iteration + " at loss scale " + scale;
            LOG.debug("Step skipped: {}; the loss scale is now {}", what, scaler.scale());
        }
        if (counts.consecutiveSkips() >= maxConsecutiveSkips) {
            throw new AmpException(stuck(what, first, remedy(badBatch.isPresent(), Double.isFinite(loss), scale)));
        }
    }

    private String stuck(String what, Optional<String> first, String remedy) {
        return counts.consecutiveSkips() + " steps in a row were skipped (maxConsecutiveSkips(" + maxConsecutiveSkips
                + ")); parameters and updater state are as they were before them. Last: " + what
                + first.map(name -> "; first to go non-finite in the backward pass: " + name)
                        .orElse("")
                + ". "
                + remedy;
    }

    private String remedy(boolean badBatch, boolean finiteLoss, double scale) {
        if (badBatch) {
            return "Mend the data; neither precision nor layers are to blame";
        }
        String lowerScale = scale > 1 && scaler.scale() >= scale
                ? "The loss scale isn't lowered by " + scaler
                        + ": give a lower one, or a DynamicLossScaler, which finds its own. "
                : "";
        return finiteLoss
                ? lowerScale
                        + "Try a lower learning rate, clip gradients, or keep the layers at fault in FP32 with AmpConfig.keepFull(name)"
                : "Activations overflowed in the forward pass, or training diverged: normalize the features, lower the learning rate,"
                        + " keep the first layers in FP32 with AmpConfig.keepFull(name), or use BFLOAT16";
    }
}
