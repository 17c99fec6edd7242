/**
 * Capsules: their predictions, which are products of matrices, and the routing by agreement. FP32 comes in and goes
 * out. Begin reading with {@link org.dl4jamp.onednn.capsule.CapsuleTwin}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.capsule;
