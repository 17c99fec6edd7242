package org.dl4jamp.gradient;

import java.util.Optional;
import java.util.OptionalDouble;
import org.dl4jamp.scale.Skip;

/**
 * The batch of a step, of all its micro-batches together.
 *
 * @param examples their number, in all micro-batches
 * @param norm the Euclidean norm of their true gradients, means over them, if it was measured
 * @param skip the reason to skip the step, if there is one
 */
public record EffectiveBatch(long examples, OptionalDouble norm, Optional<Skip> skip) {}
