package org.dl4jamp.step;

/**
 * The decision that an update is made of the gradients of an effective batch.
 *
 * @param iteration the iteration for DL4J's updater: without those that moved nothing, so that Adam's bias correction
 *     and schedules don't advance
 * @param examples number of examples in the batch
 * @param divisor the divisor that makes means of sums over them
 * @param factor the factor that brings the true gradients within the limit of their norm
 */
record Update(int iteration, long examples, float divisor, double factor) {}
