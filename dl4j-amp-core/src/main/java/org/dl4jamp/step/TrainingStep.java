package org.dl4jamp.step;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.dl4jamp.AmpException;
import org.dl4jamp.dl4j.HookedUpdater;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.layer.Gate;
import org.dl4jamp.layer.LossScalingLayer;
import org.dl4jamp.layer.StepGuard;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.UnscalingVertex;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.LayerPlace;
import org.dl4jamp.network.VertexPlace;
import org.dl4jamp.scale.LossScaler;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
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
    private final Gate gate = new Gate();
    private final Map<LossScalingLayer, INDArray> labels = new LinkedHashMap<>();
    private StepKernels kernels = StepKernels.nd4j();
    private StepCounts counts = StepCounts.NONE;
    private final SkipWarnings warnings = new SkipWarnings(LOG, System::nanoTime);
    private StepCounts callsByHand = StepCounts.NONE;
    private boolean skippedLast;
    private OptimizerIterations iterations = new OptimizerIterations();
    private BaseMultiLayerUpdater<?> replaced;
    private BaseMultiLayerUpdater<?> updater;
    private AmpUpdate update;
    private boolean removed;

    /**
     * @param owner whose step this is
     * @param network what is trained
     * @param scaler hears what becomes of each step
     * @param maxConsecutiveSkips after how many skipped steps in a row training stops
     */
    public TrainingStep(Object owner, AmpNetwork network, LossScaler scaler, int maxConsecutiveSkips) {
        this.owner = owner;
        this.network = network;
        this.scaler = scaler;
        this.maxConsecutiveSkips = maxConsecutiveSkips;
    }

    /** Whose step this is, for whoever knows what that is. */
    public Object owner() {
        return owner;
    }

    /** The training step that an updater belongs to, empty if it's null or not one of a training step's. */
    public static Optional<TrainingStep> of(BaseMultiLayerUpdater<?> updater) {
        return HookedUpdater.hookOf(updater).filter(AmpUpdate.class::isInstance).map(hook -> ((AmpUpdate) hook).step());
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

    /** Makes the blocks of an updater use the engine's kernels. */
    private AmpUpdate accelerate(HookedUpdater hooked) {
        for (UpdaterBlock block : hooked.plain().getUpdaterBlocks()) {
            block.setGradientUpdater(kernels.updater(block.getGradientUpdater()));
        }
        update = new AmpUpdate(this, network, hooked, kernels);
        return update;
    }

    /** Puts this step's updater into the network, over the state of the one it finds there. */
    public void installUpdater() {
        renewUpdater();
    }

    /**
     * Puts a new updater of this step's into the network, over the state of the one it finds there and the network's gradient view of now.
     *
     * @return that updater
     */
    BaseMultiLayerUpdater<?> renewUpdater() {
        if (removed) {
            throw new AmpException(
                    "The mixed precision that this updater belongs to is closed, and the network has another gradient view"
                            + " since; ask the network for its updater");
        }
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            BaseMultiLayerUpdater<?> found = network.updater();
            // DL4J drops updater and state in clear(), and begins with new ones.
            replaced = found == null ? network.plainUpdater(null) : found;
            updater = network.hookedUpdater(replaced.getStateViewArray(), this::accelerate);
            network.setUpdater(updater);
            update.subtraction().install(network.model().getOptimizer());
            return updater;
        }
    }

    /**
     * Gives the network back the updater that this step's has replaced, with the state of now. An updater that others have put there since, in
     * {@code setLearningRate} for example, stays. Does nothing if nothing is installed. Call it when the layers are the network's own again.
     */
    @SuppressWarnings("ReferenceEquality")
    public void removeUpdater() {
        removed = true;
        if (updater == null || network.model().params().wasClosed()) {
            return;
        }
        BaseMultiLayerUpdater<?> present = network.updater();
        if (present == null) {
            // The network may have no optimizer, and gets one by this.
            network.setUpdater(null);
        }
        UpdateSubtraction.remove(network.model().getOptimizer());
        if (present == updater) {
            boolean fits = !update.isOutdated() && of(replaced).isEmpty() && !isOverWrappers(replaced);
            network.setUpdater(fits ? replaced : network.plainUpdater(updater.getStateViewArray()));
        }
    }

    private static boolean isOverWrappers(BaseMultiLayerUpdater<?> updater) {
        return updater.getUpdaterBlocks().stream()
                .flatMap(block -> block.getLayersAndVariablesInBlock().stream())
                .map(state -> StandIn.behind(state.getLayer()))
                .anyMatch(layer -> layer instanceof TwinLayer || layer instanceof UnscalingVertex);
    }

    // DL4J's updaters are equal if their states are; here it matters which object the network will call.
    @SuppressWarnings("ReferenceEquality")
    @Override
    public void backwardBegins(LossScalingLayer output, INDArray batchLabels) {
        if (network.updater() != updater || update.isOutdated()) {
            // Another thread, which holds the monitor, may be about to close.
            synchronized (network.model()) {
                if (!removed) {
                    installUpdater();
                }
            }
        }
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
            taken(byOptimizer);
            return true;
        }
        if (byOptimizer) {
            skip(gradient, iteration, loss);
        } else {
            skipCallByHand(gradient, iteration);
        }
        return false;
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
        Optional<String> culprit = firstNonFiniteParameter();
        callsByHand = callsByHand.afterSkipped();
        leaveOut(gradient);
        String what = "gradients that the updater was given by hand in iteration " + iteration + " aren't finite"
                + culprit.map(name -> ", first those of " + name).orElse("");
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
        Optional<String> badBatch = nonFiniteBatch();
        boolean overflow = badBatch.isEmpty() && Double.isFinite(loss);
        Optional<String> culprit = overflow ? firstNonFiniteParameter() : Optional.empty();
        leaveOut(gradient);
        counts = counts.afterSkipped();
        String what;
        if (badBatch.isPresent()) {
            what = badBatch.get() + " in the batch of iteration " + iteration;
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
            throw new AmpException(stuck(what, culprit, remedy(badBatch.isPresent(), Double.isFinite(loss), scale)));
        }
    }

    private String stuck(String what, Optional<String> culprit, String remedy) {
        return counts.consecutiveSkips() + " steps in a row were skipped (maxConsecutiveSkips(" + maxConsecutiveSkips
                + ")); parameters and updater state are as they were before them. Last: " + what
                + culprit.map(name -> "; first to go non-finite in the backward pass: " + name)
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

    private Optional<String> nonFiniteBatch() {
        return nonFinite("features", network.features())
                .or(() -> nonFinite("labels", new ArrayList<>(labels.values())));
    }

    private static Optional<String> nonFinite(String what, List<INDArray> arrays) {
        for (int i = 0; i < arrays.size(); i++) {
            Optional<String> where = FiniteCheck.firstNonFinite(arrays.get(i));
            if (where.isPresent()) {
                return Optional.of(what + " " + i + " contain " + where.get());
            }
        }
        return Optional.empty();
    }

    /** The gradients flow from the last layer to the first. */
    private Optional<String> firstNonFiniteParameter() {
        List<LayerPlace> places = new ArrayList<>(network.layers());
        Collections.reverse(places);
        for (LayerPlace place : places) {
            Layer layer = place.current().get();
            INDArray view = layer.getGradientsViewArray();
            if (view == null || FiniteCheck.isFinite(view)) {
                continue;
            }
            Map<String, INDArray> gradients =
                    layer.conf().getLayer().initializer().getGradientsFromFlattened(layer.conf(), view);
            for (Map.Entry<String, INDArray> entry : gradients.entrySet()) {
                if (!FiniteCheck.isFinite(entry.getValue())) {
                    return Optional.of("parameter \"" + entry.getKey() + "\" of layer \"" + place.name() + "\"");
                }
            }
        }
        for (VertexPlace place : network.vertices()) {
            if (StandIn.behind(place.current().get()) instanceof UnscalingVertex vertex) {
                for (Map.Entry<String, INDArray> entry : vertex.gradients().entrySet()) {
                    if (!FiniteCheck.isFinite(entry.getValue())) {
                        return Optional.of("parameter \"" + entry.getKey() + "\" of vertex \"" + place.name() + "\"");
                    }
                }
            }
        }
        return Optional.empty();
    }
}
