/**
 * What users touch: {@link org.dl4jamp.MixedPrecision} turns mixed precision on for a network,
 * {@link org.dl4jamp.config.AmpConfig} holds its settings, {@link org.dl4jamp.precision.AmpException} says what can't
 * be done and what to do instead.
 */
package org.dl4jamp;
