/**
 * The public API: {@link org.dl4jamp.MixedPrecision} enables mixed precision for a network, and
 * {@link org.dl4jamp.config.AmpConfig} holds its settings. {@link org.dl4jamp.precision.AmpException} reports what
 * can't be done and what to do instead.
 */
package org.dl4jamp;
