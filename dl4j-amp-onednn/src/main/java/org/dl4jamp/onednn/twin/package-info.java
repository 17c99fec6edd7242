/**
 * The common part of all families of twins: a family's kernels for its layers, casts at the borders, and fusion of
 * ReLU. DL4J's arrays, workspaces and configurations come in; the same arrays in a twin's type and order, and back, go
 * out. Begin reading with {@link org.dl4jamp.onednn.twin.LayerKernels}, of which each family has a list, then
 * {@link org.dl4jamp.onednn.twin.ParameterlessTwin}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.twin;
