/**
 * Vertices of graphs in place of DL4J's. The activations of several layers, or the gradient of their combination, come
 * in; one array, or a gradient for each, goes out, rounded once. Begin reading with
 * {@link org.dl4jamp.onednn.vertex.ElementWiseTwin}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.vertex;
