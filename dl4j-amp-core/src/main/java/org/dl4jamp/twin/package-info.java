/**
 * What an engine and the network that it serves have in common: the {@link org.dl4jamp.twin.Twin}s that it makes of
 * layers, what stands for the vertices that it computes, and how arrays get into their types and out of them.
 *
 * <p>An engine is told what {@linkplain org.dl4jamp.twin.LayerContext stands around} a layer or vertex and which
 * {@linkplain org.dl4jamp.twin.Gate gate} a vertex passes to compute; what it makes is put to work by wrappers that
 * cast, scale and keep inputs, so a twin needs to know of none of these. Begin with {@link org.dl4jamp.twin.Twin}.
 */
package org.dl4jamp.twin;
