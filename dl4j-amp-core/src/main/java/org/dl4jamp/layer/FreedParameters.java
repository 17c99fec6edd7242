package org.dl4jamp.layer;

import org.deeplearning4j.nn.api.Layer;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Layers whose parameters were freed: code that reads them by address would read whatever is there now. */
public final class FreedParameters {
    private FreedParameters() {}

    /** Throws an {@link AmpException} if the parameters of a network's own layer were freed. */
    public static void refuse(Layer master) {
        INDArray parameters = master.params();
        if (parameters != null && parameters.wasClosed()) {
            throw new AmpException("Layer \"" + master.conf().getLayer().getLayerName()
                    + "\" has no parameters any more: close() of the network, or of its parameter array, has"
                    + " freed them."
                    + " A closed network computes no more; leave its mode with close(), and load or make"
                    + " another network");
        }
    }
}
