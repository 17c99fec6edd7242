/**
 * Locally connected layers, which have weights of their own for each window. Activations and master weights in FP32
 * come in. Activations, and gradients of the parameters, in FP32 go out. Begin reading with
 * {@link org.dl4jamp.onednn.local.LocalTwin}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.local;
