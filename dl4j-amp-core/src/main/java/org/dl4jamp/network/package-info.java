/**
 * One view of DL4J's two kinds of network: their layers as places where a wrapper can stand, and what a training step
 * needs of them.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.network;
