package org.dl4jamp.gradient;

import java.util.OptionalDouble;

/**
 * What a step's gradients were made of.
 *
 * @param examples how many, in all micro-batches
 * @param norm the Euclidean norm of their true gradients, means over them, if it was measured
 */
public record EffectiveBatch(long examples, OptionalDouble norm) {}
