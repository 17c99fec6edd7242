/**
 * Capsules: the first ones, which a convolution makes of images; their predictions, which are products of matrices, and
 * the routing by agreement; their lengths. Begin reading with {@link org.dl4jamp.onednn.capsule.CapsuleTwin}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.capsule;
