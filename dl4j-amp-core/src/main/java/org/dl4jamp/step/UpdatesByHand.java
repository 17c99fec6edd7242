package org.dl4jamp.step;

import java.util.Optional;
import java.util.OptionalDouble;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.gradient.GradientGroup.EffectiveBatch;
import org.dl4jamp.gradient.GradientParts;
import org.dl4jamp.gradient.NonFiniteSource;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.Skip;
import org.slf4j.Logger;

/**
 * Checks gradients of calls of the updater that aren't DL4J's optimizer's. Nothing was scaled for them, so they never
 * update the scaler, and they have a limit of consecutive skips of their own.
 */
final class UpdatesByHand {
    private final Logger log;
    private final NonFiniteSource culprit;
    private final int maxConsecutiveSkips;
    private final boolean needNorm;
    private int skipsInARow;

    UpdatesByHand(Logger log, NonFiniteSource culprit, int maxConsecutiveSkips, boolean needNorm) {
        this.log = log;
        this.culprit = culprit;
        this.maxConsecutiveSkips = maxConsecutiveSkips;
        this.needNorm = needNorm;
    }

    /** Makes zeros of gradients that aren't finite. Returns their batch, with the norm if it's needed. */
    EffectiveBatch check(UpdaterCall call, GradientParts.Parted gradients, double divisor, StepKernels kernels) {
        WorkEvent event = WorkEvent.begin(WorkEvent.CHECK, "gradients");
        OptionalDouble norm = needNorm ? OptionalDouble.of(gradients.norm(kernels, divisor)) : OptionalDouble.empty();
        boolean finite = norm.isPresent()
                ? Double.isFinite(norm.getAsDouble())
                        && gradients.updates().stream().allMatch(kernels::allFinite)
                : kernels.allFinite(gradients.all());
        event.commit();
        if (finite) {
            return new EffectiveBatch(call.examples(), norm, Optional.empty());
        }
        Skip skip = new Skip(
                Skip.Cause.UNSCALED,
                "gradients that the updater was given by hand in iteration " + call.iteration() + " aren't finite",
                culprit.amongParameters());
        gradients.all().assign(0);
        return new EffectiveBatch(call.examples(), norm, Optional.of(skip));
    }

    void taken() {
        skipsInARow = 0;
    }

    /** Called if they weren't. Throws an {@link AmpException} if there were too many in a row. */
    void skip(Skip skip) {
        String what = skip.what()
                + skip.first().map(name -> ", first those of " + name).orElse("");
        skipsInARow++;
        log.warn("Update skipped: {}", what);
        if (skipsInARow >= maxConsecutiveSkips) {
            throw new AmpException(skipsInARow + " updates in a row were skipped (maxConsecutiveSkips("
                    + maxConsecutiveSkips + ")): " + what
                    + ". They aren't scaled, so they wouldn't be finite in FP32 either: look at the"
                    + " features, the errors and the learning rate");
        }
    }
}
