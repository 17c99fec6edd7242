/**
 * What twins of all families share: what a family says of its layers, how arrays are cast at the borders, which ReLU is
 * computed along with what stands before it. DL4J's arrays, workspaces and configurations come in; the same arrays in
 * the type and order that a twin wants, and back, go out. Begin reading with
 * {@link org.dl4jamp.onednn.twin.LayerKernels}, of which each family lists its own, then
 * {@link org.dl4jamp.onednn.twin.ParameterlessTwin}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.twin;
