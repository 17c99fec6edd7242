/**
 * The interface between an engine and a network: the {@link org.dl4jamp.twin.Twin}s that the engine makes of layers,
 * the replacements of vertices, and the casts of their arrays.
 *
 * <p>An engine is given the {@linkplain org.dl4jamp.twin.LayerContext context} of a layer or vertex, and the
 * {@linkplain org.dl4jamp.twin.Gate gate} that a vertex enters. Wrappers cast, scale and keep inputs, so a twin does
 * none of these. Begin with {@link org.dl4jamp.twin.Twin}.
 */
package org.dl4jamp.twin;
