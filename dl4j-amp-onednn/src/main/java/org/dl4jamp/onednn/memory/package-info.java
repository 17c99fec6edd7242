/**
 * How ND4J's arrays lie in memory, in the words of oneDNN, and where new ones go: DL4J's workspaces, or memory of this
 * engine's own. Arrays and workspaces come in; layouts, addresses and arrays over numbers that are there already go
 * out. Begin reading with {@link org.dl4jamp.onednn.memory.Layout}, then {@link org.dl4jamp.onednn.memory.Workspaces}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.onednn.memory;
