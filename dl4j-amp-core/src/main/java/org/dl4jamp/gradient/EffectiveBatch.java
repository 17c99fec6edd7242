package org.dl4jamp.gradient;

import java.util.OptionalDouble;

/**
 * The batch of a step, of all its micro-batches together.
 *
 * @param examples their number, in all micro-batches
 * @param norm the Euclidean norm of their true gradients, means over them, if it was measured
 */
public record EffectiveBatch(long examples, OptionalDouble norm) {}
