/**
 * The cost of a network's layers, from its configuration alone: shapes of activations, parameters and floating-point
 * operations. Begin with {@link org.dl4jamp.inspect.cost.Shapes}.
 */
package org.dl4jamp.inspect.cost;
