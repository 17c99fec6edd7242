package org.dl4jamp.inspect.machine;

import org.dl4jamp.precision.Precision;

/**
 * The precision and the engine that {@link Precision#AUTO} stands for here.
 *
 * @param precision HALF, BFLOAT16 or FLOAT
 * @param engine the name of the engine that computes it
 * @param dl4jAsIs whether that is DL4J's own FP32
 * @param reason the reason for the choice
 */
public record AutomaticChoice(Precision precision, String engine, boolean dl4jAsIs, String reason) {}
