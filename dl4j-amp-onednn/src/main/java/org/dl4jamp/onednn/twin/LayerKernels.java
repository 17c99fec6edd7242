package org.dl4jamp.onednn.twin;

import java.util.Optional;
import java.util.function.Function;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * What this engine has for one of DL4J's layer classes.
 *
 * @param <L> the class
 * @param type the class
 * @param limits why a layer of the class has no twin
 * @param maker makes the twin
 * @param dropsInput whether DL4J's layer applies input dropout, which the wrapper does for the twin
 * @param channels which axis of a layer's arrays holds the channels
 * @param arrays what type the twin's arrays have
 */
public record LayerKernels<L extends Layer>(
        Class<L> type,
        Limits<L> limits,
        Maker maker,
        boolean dropsInput,
        Function<L, ChannelAxis> channels,
        ArrayTypes arrays) {
    /** What {@link Limits} returns if there are none. */
    public static final Optional<String> COVERED = Optional.empty();

    /** What type the arrays have that a twin takes and returns. */
    public enum ArrayTypes {
        /** That of the plan: what the layer computes in. */
        AS_PLANNED,
        /** That of the plan for what it's given, FP32 for what it returns. */
        AS_PLANNED_TO_FLOAT,
        /**
         * BFLOAT16 if those are BFLOAT16 that the layer is given and hands on, although the plan has it compute in
         * FP32.
         */
        HALF_ON_BOTH_SIDES,
        /** FP32, whatever the layer is asked to compute in: what it's given must not be rounded. */
        IN_FLOAT,
        /** What it's given is taken as it is, and summed up in FP32, which is also what it returns. */
        SUMMED_IN_FLOAT;

        /** Returns whether the twin returns FP32 whatever type it is given. */
        public boolean returnsFloat() {
            return this == AS_PLANNED_TO_FLOAT || this == IN_FLOAT || this == SUMMED_IN_FLOAT;
        }
    }

    /** For layers whose channels are the second axis, and that compute in the type of their arrays. */
    public LayerKernels(Class<L> type, Limits<L> limits, Maker maker, boolean dropsInput) {
        this(type, limits, maker, dropsInput, layer -> ChannelAxis.SECOND, ArrayTypes.AS_PLANNED);
    }

    /** The same for layers that say where their channels are. */
    public LayerKernels<L> in(Function<L, ChannelAxis> ownChannels) {
        return new LayerKernels<>(type, limits, maker, dropsInput, ownChannels, arrays);
    }

    /** The same for arrays of another type. */
    public LayerKernels<L> with(ArrayTypes ownArrays) {
        return new LayerKernels<>(type, limits, maker, dropsInput, channels, ownArrays);
    }

    /** Tells why a layer has no twin in a precision. */
    public interface Limits<L extends Layer> {
        /** Empty if it has one. */
        Optional<String> of(L layer, Precision precision);
    }

    /** Makes twins, which are {@link AutoCloseable}. */
    public interface Maker {
        org.deeplearning4j.nn.api.Layer make(NeuralNetConfiguration conf, DataType type, OneDnnContext context);
    }

    public Optional<String> without(Layer layer, Precision precision) {
        return limits.of(type.cast(layer), precision);
    }

    public ChannelAxis channelsOf(Layer layer) {
        return channels.apply(type.cast(layer));
    }

    /** The reason for the lack of a kernel for something. */
    public static Optional<String> because(String what) {
        return Optional.of("it has no kernel for " + what);
    }
}
