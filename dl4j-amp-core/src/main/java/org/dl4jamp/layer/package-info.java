/**
 * What stands in a network in place of its own layers while mixed precision is enabled: wrappers that look to DL4J like
 * the layer they stand for, hand its FP32 parameters to everyone who asks (they are the master weights), and let a twin
 * do the computing. In come a layer, its twin and what stands around them, out go activations and gradients of the
 * types that the plan says. Begin with {@link org.dl4jamp.layer.TwinLayer}.
 *
 * <p>Internal: public only for other packages of this project, and it may change with any version.
 * {@code MixedPrecision.master} tells the layer behind a wrapper.
 */
package org.dl4jamp.layer;
