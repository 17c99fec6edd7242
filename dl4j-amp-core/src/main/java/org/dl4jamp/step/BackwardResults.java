package org.dl4jamp.step;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.BooleanSupplier;
import java.util.function.LongToDoubleFunction;
import java.util.function.ObjIntConsumer;
import java.util.function.Predicate;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.gradient.GradientGroup;
import org.dl4jamp.gradient.GradientGroup.EffectiveBatch;
import org.dl4jamp.gradient.GradientParts;
import org.dl4jamp.gradient.NonFiniteSource;
import org.dl4jamp.gradient.PenalizedGradient;
import org.dl4jamp.layer.LossScalingLayer;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.scale.Skip;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Takes the gradients of each backward pass into its group of micro-batches, with the penalty's, unless something isn't
 * finite. Nothing that isn't to be subtracted from the parameters is left in the view: DL4J's optimizer subtracts what
 * is there, whatever became of the step. A pass that isn't learned from gets a reason: the batch, the loss of a sound
 * batch, or, where both are finite, the loss scale.
 */
final class BackwardResults {
    private final AmpNetwork network;
    private final Optional<PenalizedGradient> penalized;
    private final GradientGroup group;
    private final ScaleUpdates scale;
    private final NonFiniteSource nonFinite;
    private final ScaleSearch search;
    private final LongToDoubleFunction divisor;
    private final Map<LossScalingLayer, INDArray> labels = new LinkedHashMap<>();
    private final ObjIntConsumer<Skip> observer;
    private Predicate<INDArray> special = array -> false;

    /**
     * @param divisor the divisor that makes means of sums over that many examples
     * @param observer called with each pass that is skipped, and the iteration
     */
    BackwardResults(
            AmpNetwork network,
            Optional<PenalizedGradient> penalized,
            GradientGroup group,
            ScaleUpdates scale,
            ScaleSearch search,
            LongToDoubleFunction divisor,
            ObjIntConsumer<Skip> observer) {
        this.network = network;
        this.penalized = penalized;
        this.group = group;
        this.scale = scale;
        this.search = search;
        this.nonFinite = new NonFiniteSource(network);
        this.divisor = divisor;
        this.observer = observer;
    }

    /**
     * Takes the gradients of one backward pass. Afterwards the view holds those of a complete group that isn't skipped,
     * and otherwise zeros; its updates are left where all of the pass was finite.
     */
    void take(UpdaterCall call, GradientParts.Parted gradients, StepKernels kernels) {
        boolean searches = search.isOn(gradients.all());
        Optional<Skip> skip = skipOf(call, gradients, kernels, searches && group.collects());
        if (searches
                && skip.filter(Skip::isOverflow).isPresent()
                && search.run(call.iteration(), gradients.all(), kernels)) {
            skip = skipOf(call, gradients, kernels, false);
        }
        labels.clear();
        group.count(call.examples(), skip);
        if (skip.isPresent()) {
            observer.accept(skip.get(), call.iteration());
            gradients.all().assign(0);
        }
    }

    /** @param readsFirst whether gradients that aren't finite have to be as they were, and the group's sums, too */
    private Optional<Skip> skipOf(
            UpdaterCall call, GradientParts.Parted gradients, StepKernels kernels, boolean readsFirst) {
        double loss = network.model().score();
        boolean finite = !mayHideFeatures()
                && ((penalized.isEmpty() && !readsFirst)
                        || (check(() -> kernels.allFinite(gradients.all())) && Double.isFinite(loss)));
        if (finite && penalized.isPresent()) {
            Optional<String> notFinite =
                    penalized.get().addTo(gradients, divisor.applyAsDouble(call.examples()), kernels);
            if (notFinite.isPresent()) {
                return Optional.of(ofUnscaled(call.iteration(), notFinite.get()));
            }
        }
        finite = finite && check(() -> group.take(gradients, call.examples(), kernels)) && Double.isFinite(loss);
        return finite ? Optional.empty() : Optional.of(of(call.iteration(), loss));
    }

    /**
     * Checks gradients that the updater was given by hand, for which nothing was scaled, and makes zeros of those that
     * aren't finite. Returns their batch, with the norm if it's needed.
     */
    EffectiveBatch takeByHand(
            UpdaterCall call, GradientParts.Parted gradients, StepKernels kernels, boolean needsNorm) {
        labels.clear();
        WorkEvent event = WorkEvent.begin(WorkEvent.CHECK, "gradients");
        OptionalDouble norm = needsNorm
                ? OptionalDouble.of(gradients.norm(kernels, divisor.applyAsDouble(call.examples())))
                : OptionalDouble.empty();
        boolean finite = needsNorm
                ? Double.isFinite(norm.getAsDouble())
                        && gradients.updates().stream().allMatch(kernels::allFinite)
                : kernels.allFinite(gradients.all());
        event.commit();
        if (finite) {
            return new EffectiveBatch(call.examples(), norm, Optional.empty());
        }
        Skip skip = ofUnscaled(call.iteration(), "gradients that the updater was given by hand");
        gradients.all().assign(0);
        return new EffectiveBatch(call.examples(), norm, Optional.of(skip));
    }

    private static boolean check(BooleanSupplier finite) {
        WorkEvent event = WorkEvent.begin(WorkEvent.CHECK, "gradients");
        boolean result = finite.getAsBoolean();
        event.commit();
        return result;
    }

    /** Takes the engine's test for arrays of which it may lose something. */
    void use(Predicate<INDArray> engines) {
        special = engines;
    }

    /**
     * Returns whether the batch has features that aren't finite, and that the engine may have made finite: its ReLU
     * makes zero of NaN.
     */
    boolean mayHideFeatures() {
        return network.features().stream()
                .anyMatch(features -> features != null
                        && special.test(features)
                        && NonFiniteSource.firstNonFinite(features).isPresent());
    }

    /** Sets an output layer's labels at the begin of a backward pass; may be null. */
    void begins(LossScalingLayer output, INDArray batchLabels) {
        labels.put(output, batchLabels);
    }

    /**
     * Returns the reason why gradients or loss of an iteration aren't finite. If it's the batch, the network's score
     * becomes NaN. The loss is without the scale.
     */
    Skip of(int iteration, double loss) {
        double factor = scale.arePaused() ? 1 : scale.scaler().scale();
        Optional<String> badBatch = nonFinite.inBatch(labels.values());
        if (badBatch.isPresent()) {
            // As in stock DL4J. oneDNN's ReLU makes zero of NaN, and the loss a number.
            network.setScore(Double.NaN);
            return new Skip(
                    Skip.Cause.BATCH, badBatch.get() + " in the batch of iteration " + iteration, Optional.empty());
        }
        if (!Double.isFinite(loss)) {
            return new Skip(
                    Skip.Cause.LOSS,
                    "the loss of iteration " + iteration + " is " + loss + " at the finite loss scale " + factor
                            + ", with finite features and labels",
                    Optional.empty());
        }
        if (scale.arePaused()) {
            return new Skip(
                    Skip.Cause.UNSCALED,
                    "gradients weren't finite in iteration " + iteration + ", in a pause, in FP32",
                    nonFinite.amongParameters());
        }
        return new Skip(
                Skip.Cause.OVERFLOW,
                "gradients overflowed in iteration " + iteration + " at loss scale " + factor,
                nonFinite.amongParameters());
    }

    /** Returns the reason to skip a pass that wasn't scaled, from what wasn't finite in it. */
    Skip ofUnscaled(int iteration, String what) {
        return new Skip(
                Skip.Cause.UNSCALED, what + " weren't finite in iteration " + iteration, nonFinite.amongParameters());
    }
}
