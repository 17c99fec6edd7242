package org.dl4jamp.step;

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Predicate;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.dl4jamp.dl4j.HookedUpdater;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.gradient.Clipping;
import org.dl4jamp.gradient.GradientGroup;
import org.dl4jamp.gradient.GradientGroup.EffectiveBatch;
import org.dl4jamp.gradient.GradientGroup.WaitingGroup;
import org.dl4jamp.gradient.GradientParts;
import org.dl4jamp.layer.LossScalingLayer;
import org.dl4jamp.layer.StepGuard;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.LayerObserver;
import org.dl4jamp.scale.Skip;
import org.dl4jamp.twin.Gate;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides in each training step whether it counts. A step with a non-finite gradient or loss is skipped: its gradients
 * become zero, and parameters, updater state and running statistics stay as they were. If the loss was finite the scale
 * was too large, and the scaler is updated with an overflow; otherwise the scale isn't to blame and stays. The
 * micro-batches of a {@linkplain GradientGroup group} are one step, which counts or doesn't.
 */
public final class TrainingStep implements StepGuard {
    private static final Logger LOG = LoggerFactory.getLogger(TrainingStep.class);

    private final Object owner;
    private final AmpNetwork network;
    private final ScaleUpdates scale;
    private final SkippedSteps skippedSteps;
    private final GradientGroup group;
    private final Optional<OwnListener> epochEnd;
    private final Clipping clipping;
    private final BackwardResults results;
    final InstalledUpdater updater;
    private final Gate gate = new Gate();
    private StepKernels kernels = StepKernels.nd4j();
    private StepCounts counts = StepCounts.NONE;
    private StepObservers observers;
    private boolean skippedLast;
    private OptionalDouble gradientNorm = OptionalDouble.empty();
    private OptimizerIterations iterations = new OptimizerIterations();

    /**
     * @param scale notified of each step's result
     * @param maxConsecutiveSkips number of skipped steps in a row after which training stops
     */
    public TrainingStep(
            Object owner, AmpNetwork network, ScaleUpdates scale, int maxConsecutiveSkips, GradientTerms gradients) {
        this.owner = owner;
        this.network = network;
        this.scale = scale;
        this.clipping = gradients.clipping();
        this.group = new GradientGroup(
                gradients.microBatches(), clipping.norm().isPresent() || gradients.measuresNorm(), this::divisor);
        this.epochEnd = group.collects() && gradients.appliesPartialGroups()
                ? Optional.of(new OwnListener(network, OwnListener.At.EPOCH_END, this::applyGroup))
                : Optional.empty();
        this.observers = new StepObservers(network);
        this.skippedSteps = new SkippedSteps(LOG, scale, maxConsecutiveSkips);
        ScaleSearch search = new ScaleSearch(gradients.searchedSteps(), () -> counts.taken(), network, scale);
        this.results =
                new BackwardResults(network, gradients.penalty(), group, scale, search, this::divisor, this::skipped);
        this.updater = new InstalledUpdater(network, this::hook);
    }

    public Object owner() {
        return owner;
    }

    /** Returns the training step that an updater belongs to, empty if it's null or not one of a training step's. */
    public static Optional<TrainingStep> of(BaseMultiLayerUpdater<?> updater) {
        return HookedUpdater.hookOf(updater).filter(AmpUpdate.class::isInstance).map(hook -> ((AmpUpdate) hook).step());
    }

    public Model network() {
        return network.model();
    }

    public StepObservers observers() {
        return observers;
    }

    private void skipped(Skip skip, int iteration) {
        observers.skipped(skip, iteration);
    }

    @Override
    public List<LayerObserver> layerObservers() {
        return observers.layers();
    }

    /** Runs a further backward pass of the batch in progress, scaled as in a step. No listener is notified. */
    public void repeat() {
        scale.repeat(network::runSilently);
    }

    /** Goes on where another step of the same network stopped, which may be in the middle of a group. */
    public void follow(TrainingStep before) {
        counts = before.counts;
        iterations = before.iterations;
        skippedLast = before.skippedLast;
        gradientNorm = before.gradientNorm;
        observers = before.observers;
        observers.putBack();
        before.waiting().ifPresent(this::restore);
    }

    public StepCounts counts() {
        return counts;
    }

    public void restore(StepCounts counts) {
        this.counts = counts;
        this.iterations = new OptimizerIterations();
    }

    public Optional<WaitingGroup> waiting() {
        return group.waiting();
    }

    /**
     * Goes on with micro-batches that waited.
     *
     * @throws AmpException if they aren't of a network of this size
     */
    public void restore(WaitingGroup waiting) {
        group.restore(waiting, network.model().params().length());
        scale.restore();
    }

    /**
     * Takes an engine's kernels, for updaters that are installed from now on, too.
     *
     * @param special returns whether the engine may lose something of an array, such as NaN
     */
    public void use(StepKernels engines, Predicate<INDArray> special) {
        this.kernels = engines;
        results.use(special);
    }

    public void installUpdater() {
        updater.renew();
        epochEnd.ifPresent(OwnListener::putBack);
        observers.putBack();
    }

    public void removeUpdater() {
        epochEnd.ifPresent(OwnListener::remove);
        observers.remove();
        updater.remove();
    }

    private AmpUpdate hook(HookedUpdater hooked) {
        GradientParts parts = new GradientParts(hooked.plain().getUpdaterBlocks());
        if (group.collects()) {
            parts.requireAddable(group.size());
        }
        return new AmpUpdate(this, network, hooked, parts, kernels, clipping);
    }

    @Override
    public void backpropagates() {
        updater.putBack(gate);
    }

    @Override
    public void backwardBegins(LossScalingLayer output, INDArray batchLabels) {
        backpropagates();
        results.begins(output, batchLabels);
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
     * Returns the norm of the gradients of the last step that counted, before they were clipped; empty before there was
     * one, and where it isn't measured.
     */
    public OptionalDouble gradientNorm() {
        return gradientNorm;
    }

    /** Returns what makes means of gradients that are sums over examples. */
    private float divisor(long examples) {
        return network.model().conf().isMiniBatch() ? examples : 1;
    }

    private AmpUpdate.Update update(EffectiveBatch batch) {
        return new AmpUpdate.Update(iterations.seen(), divisor(batch.examples()), clipping.factor(batch.norm()));
    }

    private void moveNothing() {
        iterations.skip();
        skippedLast = true;
    }

    /**
     * Decides on the gradients that an updater is called with.
     *
     * <p>Only a call by DL4J's optimizer is a step: then the network's score is the loss that the gradients belong to.
     * Any other call isn't counted, and since nothing was scaled for it, the scaler isn't updated.
     *
     * @param gradients become those of the effective batch; where there is no update zeros, but for what is an update
     *     already
     * @return the update to make; empty if the updater has to wait, or the step doesn't count
     * @throws AmpException if too many steps in a row were skipped, or if several networks share a scale that wasn't
     *     updated since the last step
     */
    Optional<AmpUpdate.Update> decide(UpdaterCall call, GradientParts.Parted gradients) {
        boolean byOptimizer = NetworkCall.isUpdateOfStep();
        if (byOptimizer) {
            scale.begin(network.described() + ", in iteration " + call.iteration() + ",");
        }
        iterations.begin(call.iteration(), counts);
        if (!byOptimizer) {
            return decideByHand(call, gradients);
        }
        epochEnd.ifPresent(OwnListener::putBack);
        observers.putBack();
        results.take(call, gradients, kernels);
        scale.count();
        if (group.isComplete()) {
            return end();
        }
        counts = counts.afterCollected();
        moveNothing();
        return Optional.empty();
    }

    private Optional<AmpUpdate.Update> end() {
        EffectiveBatch batch = group.end();
        if (batch.skip().isPresent()) {
            counts = counts.afterSkipped();
            moveNothing();
            skippedSteps.add(batch.skip().get(), counts);
            return Optional.empty();
        }
        skippedLast = false;
        counts = counts.afterTaken();
        gradientNorm = batch.norm();
        scale.end(Optional.empty());
        return Optional.of(update(batch));
    }

    private Optional<AmpUpdate.Update> decideByHand(UpdaterCall call, GradientParts.Parted gradients) {
        EffectiveBatch batch =
                results.takeByHand(call, gradients, kernels, clipping.norm().isPresent());
        if (batch.skip().isPresent()) {
            moveNothing();
            skippedSteps.addByHand(batch.skip().get());
            return Optional.empty();
        }
        skippedLast = false;
        skippedSteps.takenByHand();
        return Optional.of(update(batch));
    }

    /**
     * Makes a step of a group that isn't complete.
     *
     * @return whether there was one
     */
    public boolean applyGroup() {
        if (group.isEmpty()) {
            return false;
        }
        scale.begin(network.described());
        updater.putBack(gate);
        counts = counts.withoutLastCollected();
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            updater.update.gradients().all().assign(0);
            group.giveTo(updater.update.gradients(), kernels);
            iterations.resume(BaseOptimizer.getIterationCount(network.model()), counts);
            end().ifPresent(updater.update::apply);
        }
        return true;
    }
}
