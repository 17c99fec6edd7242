package org.dl4jamp.inspect.compare;

/**
 * A parameter.
 *
 * @param parameter its name in the layer, such as {@code W}
 * @param gradients its gradients, unscaled
 */
public record ParameterComparison(String parameter, Compared gradients) {}
