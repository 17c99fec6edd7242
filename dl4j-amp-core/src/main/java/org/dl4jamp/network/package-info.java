/** One view of DL4J's two kinds of network: their layers as places where a wrapper can stand, and what a training step needs of them. */
package org.dl4jamp.network;
