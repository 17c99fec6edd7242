/**
 * The wrappers that replace a network's layers while mixed precision is enabled. To DL4J they look like the wrapped
 * layer, and they return its FP32 parameters, which are the master weights; a twin computes. A wrapper is made of a
 * layer, its twin and their context; its activations and gradients have the types of the plan. Begin with
 * {@link org.dl4jamp.layer.TwinLayer}.
 *
 * <p>Internal: public only for other packages of this project, and it may change with any version.
 * {@code MixedPrecision.master} returns the layer behind a wrapper.
 */
package org.dl4jamp.layer;
