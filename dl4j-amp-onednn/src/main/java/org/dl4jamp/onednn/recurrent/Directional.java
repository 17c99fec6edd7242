package org.dl4jamp.onednn.recurrent;

import org.deeplearning4j.nn.api.Layer;
import org.dl4jamp.twin.OptionalInputGradient;

/** The twin of a recurrent layer, as one direction of a bidirectional layer uses it. */
interface Directional extends Layer, OptionalInputGradient, AutoCloseable {
    RecurrentPasses passes();

    /** Returns the FP32 parameters. */
    RecurrentParameters parameters();

    /** Views that take the parameters' gradients. */
    RecurrentParameters gradients();

    @Override
    default void spareInputGradient(boolean unwanted) {
        passes().spareInputGradient(unwanted);
    }

    @Override
    void close();
}
