package org.dl4jamp.step;

import java.util.Optional;
import org.dl4jamp.gradient.Clipping;
import org.dl4jamp.gradient.PenalizedGradient;

/**
 * The operations on gradients before the updater.
 *
 * @param penalty adds a penalty to those of each backward pass, if there is one
 * @param searchedSteps number of first steps in which an overflow begins a {@link ScaleSearch}
 * @param microBatches number of backward passes whose gradients are added up for a step, at least 1
 * @param appliesPartialGroups whether the end of an epoch makes a step of fewer
 * @param clipping limits of those of a step
 * @param measuresNorm whether their norm is measured where no limit needs it
 */
public record GradientTerms(
        Optional<PenalizedGradient> penalty,
        int searchedSteps,
        int microBatches,
        boolean appliesPartialGroups,
        Clipping clipping,
        boolean measuresNorm) {}
