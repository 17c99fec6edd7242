package org.dl4jamp.layer.standin;

/**
 * Has the class of a network's own layer or vertex and passes calls on to the wrapper that works in its place. Methods
 * have long names because any class of layer must be able to have them beside its own.
 */
public interface StandIn {
    /** Returns the wrapper. */
    Object mixedPrecisionWrapper();

    /** Returns the network's own layer or vertex. */
    Object mixedPrecisionMaster();

    /**
     * Returns the object that works in a network in this place: the wrapper if it's a stand-in, else the object itself.
     *
     * @param handedOut a layer or vertex from a network's getter; may be null
     */
    static Object behind(Object handedOut) {
        return handedOut instanceof StandIn standIn ? standIn.mixedPrecisionWrapper() : handedOut;
    }
}
