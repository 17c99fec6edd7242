package org.dl4jamp;

/**
 * A training listener that serves one network at a time. DL4J's {@code ParallelWrapper} gives the listeners of its
 * network to all replicas; of those with this interface {@code AmpReplicas} leaves them to the network itself.
 */
public interface ServesOneNetwork {}
