/**
 * Passes over plain floats on the host, for any engine on a CPU: checks that all is finite, and operations on gradients
 * in an updater's step. A network's FP32 gradients, parameters and updater state come in, as ND4J keeps them; updates
 * take the gradients' place, and are subtracted from the parameters, at the speed of memory. Begin reading with
 * {@link org.dl4jamp.onednn.host.HostStepKernels}; loops are written for {@link org.dl4jamp.onednn.host.FlatFloats}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.host;
