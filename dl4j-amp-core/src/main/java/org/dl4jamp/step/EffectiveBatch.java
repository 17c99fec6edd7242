package org.dl4jamp.step;

/**
 * What a step's gradients were made of.
 *
 * @param examples how many, in all micro-batches
 * @param norm the Euclidean norm of the gradients that are sums over them
 */
record EffectiveBatch(long examples, double norm) {}
