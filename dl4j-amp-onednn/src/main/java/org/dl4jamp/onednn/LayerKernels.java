package org.dl4jamp.onednn;

import java.util.Optional;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.Precision;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * What this engine has for one of DL4J's layer classes.
 *
 * @param <L> the class
 * @param type the class
 * @param limits why a layer of the class has no twin
 * @param maker makes the twin
 * @param dropsInput whether DL4J's layer applies input dropout, which the wrapper does for the twin
 */
record LayerKernels<L extends Layer>(Class<L> type, Limits<L> limits, Maker maker, boolean dropsInput) {
    /** What {@link Limits} returns if there are none. */
    static final Optional<String> COVERED = Optional.empty();

    /** Tells why a layer has no twin in a precision. */
    interface Limits<L extends Layer> {
        /** Empty if it has one. */
        Optional<String> of(L layer, Precision precision);
    }

    /** Makes twins, which are {@link AutoCloseable}. */
    interface Maker {
        org.deeplearning4j.nn.api.Layer make(NeuralNetConfiguration conf, DataType type, OneDnnContext context);
    }

    Optional<String> without(Layer layer, Precision precision) {
        return limits.of(type.cast(layer), precision);
    }

    /** The reason for the lack of a kernel for something. */
    static Optional<String> because(String what) {
        return Optional.of("it has no kernel for " + what);
    }
}
