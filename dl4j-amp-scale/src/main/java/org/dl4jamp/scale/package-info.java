/**
 * Loss scaling, by which small gradients survive half precision: pure arithmetic that doesn't depend on networks,
 * layers or arrays.
 *
 * <p>{@link org.dl4jamp.scale.DynamicLossScaler} finds the scale while training,
 * {@link org.dl4jamp.scale.StaticLossScaler} keeps one that was given, {@link org.dl4jamp.scale.NoLossScaler} does not
 * scale.
 */
package org.dl4jamp.scale;
