/**
 * Layers that move, repeat, cut and pad numbers without computing with them. Activations come in as they are;
 * activations of another shape, and gradients of the first, go out. Begin reading with
 * {@link org.dl4jamp.onednn.shape.MarginTwin}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.shape;
