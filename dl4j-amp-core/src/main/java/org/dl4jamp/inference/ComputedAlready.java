package org.dl4jamp.inference;

import org.dl4jamp.precision.AmpException;

/** Makes the exceptions for calls of a layer or vertex whose pass was computed at an earlier one's turn. */
final class ComputedAlready {
    private ComputedAlready() {}

    /**
     * Returns the exception for another input than that of the pass.
     *
     * @param name of the layer or vertex
     * @param remedy how its pass is computed at its own turn
     */
    static AmpException withAnother(String name, String remedy) {
        return new AmpException(described(name)
                + " was given another array than the one before it has returned, in whose pass"
                + " it was computed already."
                + " Either a pass has failed between the two, and the network has to be run again, or"
                + " something has changed the array between them: then " + remedy + ", or leave inference mode");
    }

    /**
     * Returns the exception for a pass that ends at a layer whose activations are gone.
     *
     * @param name of the layer or vertex
     */
    static AmpException toKeep(String name) {
        return new AmpException(described(name)
                + " was asked for activations to keep, in a pass that was computed already."
                + " Call feedForward or feedForwardToLayer for them, or leave inference mode");
    }

    private static String described(String name) {
        return "Layer or vertex \"" + name + "\"";
    }
}
