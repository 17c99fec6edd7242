package org.dl4jamp.gradient;

import java.util.Optional;

/**
 * The operations on gradients before the updater.
 *
 * @param penalty adds a penalty to those of each backward pass, if there is one
 * @param microBatches number of backward passes whose gradients are added up for a step, at least 1
 * @param appliesPartialGroups whether the end of an epoch makes a step of fewer
 * @param clipping limits of those of a step
 * @param measuresNorm whether their norm is measured where no limit needs it
 */
public record GradientTerms(
        Optional<PenalizedGradient> penalty,
        int microBatches,
        boolean appliesPartialGroups,
        Clipping clipping,
        boolean measuresNorm) {}
