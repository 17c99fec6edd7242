package org.dl4jamp.twin;

/**
 * An object that replaces a layer or vertex in a network, with its interfaces but not its class.
 *
 * @param <T> the interface of DL4J's that it implements
 */
public interface Substitute<T> {
    /** Returns the network's own layer or vertex, for everything that isn't in the interface. */
    T master();

    /** Returns the master for calls of methods that read the input or the labels: both have been set. */
    T informedMaster();
}
