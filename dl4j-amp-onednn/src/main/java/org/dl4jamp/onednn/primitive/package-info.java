/**
 * oneDNN itself: its library, and primitives that are made once and run many times, with their scratchpad, by as many
 * threads as their work is worth. Descriptions of arrays, and then the arrays' addresses, come in; results are written
 * in place. Begin reading with {@link org.dl4jamp.onednn.primitive.Kernel}, then
 * {@link org.dl4jamp.onednn.primitive.OneDnnContext}, which a network's kernels share.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.primitive;
