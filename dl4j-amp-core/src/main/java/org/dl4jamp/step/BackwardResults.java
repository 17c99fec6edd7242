package org.dl4jamp.step;

import java.util.Optional;
import java.util.function.LongToDoubleFunction;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.gradient.GradientGroup;
import org.dl4jamp.gradient.GradientParts;
import org.dl4jamp.gradient.PenalizedGradient;
import org.dl4jamp.gradient.Skip;
import org.dl4jamp.network.AmpNetwork;

/**
 * Takes the gradients of each backward pass into its group of micro-batches, with the penalty's, unless something isn't
 * finite.
 */
final class BackwardResults {
    private final AmpNetwork network;
    private final Optional<PenalizedGradient> penalized;
    private final GradientGroup group;
    private final Diagnosis diagnosis;
    private final LongToDoubleFunction divisor;

    /**
     * @param network the network that runs backward
     * @param penalized adds a penalty to the gradients, if there is one
     * @param group takes the gradients
     * @param diagnosis finds the reason for gradients that aren't finite
     * @param divisor the divisor that makes means of sums over that many examples
     */
    BackwardResults(
            AmpNetwork network,
            Optional<PenalizedGradient> penalized,
            GradientGroup group,
            Diagnosis diagnosis,
            LongToDoubleFunction divisor) {
        this.network = network;
        this.penalized = penalized;
        this.group = group;
        this.diagnosis = diagnosis;
        this.divisor = divisor;
    }

    /**
     * The result of a backward pass.
     *
     * @param skip why nothing is learned from it, if it's so
     * @param inView whether its gradients are in the network's view
     */
    record Result(Optional<Skip> skip, boolean inView) {
        private static Result skipped(Skip skip) {
            return new Result(Optional.of(skip), true);
        }

        /**
         * Makes zeros of all that isn't to be subtracted from the parameters: the optimizer subtracts what is in the
         * view, whatever became of the step.
         *
         * @param due whether an update is made of the gradients in the view
         */
        void leaveNothing(GradientParts.Parted gradients, boolean due) {
            if (skip.isPresent()) {
                gradients.all().assign(0);
            } else if (inView && !due) {
                gradients.clearGradients();
            }
        }
    }

    /**
     * Takes the gradients of one backward pass.
     *
     * @param parts parts of the gradients
     * @param gradients the network's
     */
    Result take(UpdaterCall call, GradientParts parts, GradientParts.Parted gradients, StepKernels kernels) {
        double loss = network.model().score();
        if (diagnosis.mayHideFeatures()) {
            return Result.skipped(diagnosis.of(call.iteration(), loss));
        }
        if (penalized.isPresent()) {
            if (!isFinite(gradients, kernels) || !Double.isFinite(loss)) {
                return Result.skipped(diagnosis.of(call.iteration(), loss));
            }
            Optional<String> notFinite =
                    penalized.get().addTo(gradients, parts, divisor.applyAsDouble(call.examples()), kernels);
            if (notFinite.isPresent()) {
                return Result.skipped(diagnosis.ofUnscaled(call.iteration(), notFinite.get()));
            }
        }
        WorkEvent event = WorkEvent.begin(WorkEvent.CHECK, "gradients");
        GradientGroup.Taken taken = group.take(parts, gradients, call.examples(), kernels);
        event.commit();
        return taken.finite() && Double.isFinite(loss)
                ? new Result(Optional.empty(), taken.inView())
                : Result.skipped(diagnosis.of(call.iteration(), loss));
    }

    private static boolean isFinite(GradientParts.Parted gradients, StepKernels kernels) {
        WorkEvent event = WorkEvent.begin(WorkEvent.CHECK, "gradients");
        boolean finite = kernels.allFinite(gradients.all());
        event.commit();
        return finite;
    }
}
