package org.dl4jamp.install;

import java.util.Arrays;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.checkpoint.WaitingGradients;
import org.dl4jamp.gradient.Skip;
import org.dl4jamp.gradient.WaitingGroup;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.step.StepCounts;
import org.dl4jamp.step.TrainingStep;

/** Converts a training step into a state that can be saved, and back, so that neither depends on the other. */
public final class SavedStep {
    private SavedStep() {}

    public static AmpState of(ResolvedConfig resolved, TrainingStep step) {
        StepCounts counts = step.counts();
        return new AmpState(
                resolved.config(),
                resolved.scaler().state(),
                counts.taken(),
                counts.skipped(),
                counts.consecutiveSkips(),
                counts.collected(),
                step.waiting().map(SavedStep::gradients));
    }

    /**
     * Has a step go on from a state.
     *
     * @throws AmpException if the scaler, or the network, can't have that state
     */
    public static void restore(AmpState state, ResolvedConfig resolved, TrainingStep step) {
        resolved.restoreScaler(state);
        state.waiting().map(SavedStep::group).ifPresent(step::restore);
        step.restore(new StepCounts(
                state.stepsTaken(), state.stepsSkipped(), state.consecutiveSkips(), state.iterationsWithoutStep()));
    }

    private static WaitingGradients gradients(WaitingGroup group) {
        return new WaitingGradients(
                group.microBatches(),
                group.examples(),
                group.sums(),
                group.failure()
                        .map(skip -> new WaitingGradients.Failure(skip.cause().name(), skip.what(), skip.first())));
    }

    private static WaitingGroup group(WaitingGradients waiting) {
        return new WaitingGroup(
                waiting.microBatches(),
                waiting.examples(),
                waiting.sums(),
                waiting.failure().map(failure -> new Skip(cause(failure), failure.what(), failure.first())));
    }

    private static Skip.Cause cause(WaitingGradients.Failure failure) {
        return Arrays.stream(Skip.Cause.values())
                .filter(cause -> cause.name().equals(failure.cause()))
                .findFirst()
                .orElseThrow(() -> new AmpException("waiting: the cause of its failure is \"" + failure.cause()
                        + "\", but has to be one of " + Arrays.toString(Skip.Cause.values())));
    }
}
