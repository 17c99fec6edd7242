package org.dl4jamp.twin;

/**
 * What works in a network in place of one of its own layers or vertices, and has its interfaces but not its class.
 *
 * @param <T> the interface of DL4J's that it implements
 */
public interface Substitute<T> {
    /** The network's own, which is asked for everything that isn't in the interface. */
    T master();

    /** The layer or vertex that computes in the master's place if there is one, else the master. */
    T computing();

    /**
     * The master, when a method of its is to be called that reads the input or the labels: it has been told those that
     * this was given.
     */
    T informedMaster();
}
