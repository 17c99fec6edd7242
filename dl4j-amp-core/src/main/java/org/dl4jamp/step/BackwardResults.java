package org.dl4jamp.step;

import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.LongToDoubleFunction;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.gradient.GradientGroup;
import org.dl4jamp.gradient.GradientParts;
import org.dl4jamp.gradient.PenalizedGradient;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.scale.Skip;

/**
 * Takes the gradients of each backward pass into its group of micro-batches, with the penalty's, unless something isn't
 * finite. Nothing that isn't to be subtracted from the parameters is left in the view: DL4J's optimizer subtracts what
 * is there, whatever became of the step.
 */
final class BackwardResults {
    private final AmpNetwork network;
    private final Optional<PenalizedGradient> penalized;
    private final GradientGroup group;
    private final Diagnosis diagnosis;
    private final LongToDoubleFunction divisor;

    /** @param divisor the divisor that makes means of sums over that many examples */
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
     * Takes the gradients of one backward pass. Afterwards the view holds those of a complete group that isn't skipped,
     * and otherwise zeros; its updates are left where all of the pass was finite.
     */
    void take(UpdaterCall call, GradientParts.Parted gradients, StepKernels kernels) {
        Optional<Skip> skip = skipOf(call, gradients, kernels);
        diagnosis.ends();
        group.count(call.examples(), skip);
        if (skip.isPresent()) {
            gradients.all().assign(0);
        }
    }

    private Optional<Skip> skipOf(UpdaterCall call, GradientParts.Parted gradients, StepKernels kernels) {
        double loss = network.model().score();
        boolean finite = !diagnosis.mayHideFeatures()
                && (penalized.isEmpty() || (check(() -> kernels.allFinite(gradients.all())) && Double.isFinite(loss)));
        if (finite && penalized.isPresent()) {
            Optional<String> notFinite =
                    penalized.get().addTo(gradients, divisor.applyAsDouble(call.examples()), kernels);
            if (notFinite.isPresent()) {
                return Optional.of(diagnosis.ofUnscaled(call.iteration(), notFinite.get()));
            }
        }
        finite = finite && check(() -> group.take(gradients, call.examples(), kernels)) && Double.isFinite(loss);
        return finite ? Optional.empty() : Optional.of(diagnosis.of(call.iteration(), loss));
    }

    private static boolean check(BooleanSupplier finite) {
        WorkEvent event = WorkEvent.begin(WorkEvent.CHECK, "gradients");
        boolean result = finite.getAsBoolean();
        event.commit();
        return result;
    }
}
