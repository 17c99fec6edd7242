/**
 * Layouts of ND4J's arrays in oneDNN's terms, and memory for new ones: DL4J's workspaces, or this engine's own. Arrays
 * and workspaces come in; layouts, addresses and views go out. Begin reading with
 * {@link org.dl4jamp.onednn.memory.Layout}, then {@link org.dl4jamp.onednn.memory.Workspaces}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.memory;
