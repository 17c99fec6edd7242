package org.dl4jamp.onednn.twin;

import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.dropout.IDropout;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * This engine's kernels for one of DL4J's layer classes.
 *
 * @param limits why a layer of the class has no twin
 * @param dropout the input dropout that DL4J's layer applies, null for none; the wrapper applies it for the twin
 * @param channels the axis of a layer's arrays that holds the channels
 */
public record LayerKernels<L extends Layer>(
        Class<L> type,
        Limits<L> limits,
        Maker maker,
        BiFunction<L, OneDnnContext, IDropout> dropout,
        Function<L, ChannelAxis> channels,
        ArrayTypes arrays) {
    /** The result of {@link Limits} for a layer that has a twin. */
    public static final Optional<String> COVERED = Optional.empty();

    /** The types of a twin's input and output. */
    public enum ArrayTypes {
        /** The planned type, for both. */
        AS_PLANNED,
        /** The planned type for the input, FP32 for the output. */
        AS_PLANNED_TO_FLOAT,
        /** BFLOAT16 if the network has BFLOAT16 on both sides of the layer, although the layer computes in FP32. */
        HALF_ON_BOTH_SIDES,
        /** FP32, whatever the planned type: the input must not be rounded. */
        IN_FLOAT,
        /** Any type for the input, which is summed in FP32; FP32 for the output. */
        SUMMED_IN_FLOAT;

        /** Returns whether the twin returns FP32 whatever type it is given. */
        public boolean returnsFloat() {
            return this == AS_PLANNED_TO_FLOAT || this == IN_FLOAT || this == SUMMED_IN_FLOAT;
        }
    }

    /**
     * Makes kernels of layers with the channels as second axis, which compute in the type of their arrays.
     *
     * @param dropsInput whether DL4J's layer applies the layer's input dropout
     */
    public LayerKernels(Class<L> type, Limits<L> limits, Maker maker, boolean dropsInput) {
        this(
                type,
                limits,
                maker,
                (layer, context) -> dropsInput ? layer.getIDropout() : null,
                layer -> ChannelAxis.SECOND,
                ArrayTypes.AS_PLANNED);
    }

    /** Makes kernels of all layers of a class. */
    public LayerKernels(Class<L> type, Maker maker, boolean dropsInput) {
        this(type, (layer, precision) -> COVERED, maker, dropsInput);
    }

    /** Returns the same for layers that configure the axis of their channels. */
    public LayerKernels<L> in(Function<L, ChannelAxis> ownChannels) {
        return new LayerKernels<>(type, limits, maker, dropout, ownChannels, arrays);
    }

    /** Returns the same for arrays of another type. */
    public LayerKernels<L> with(ArrayTypes ownArrays) {
        return new LayerKernels<>(type, limits, maker, dropout, channels, ownArrays);
    }

    /** Returns the same for layers with another input dropout than the layer's own. */
    public LayerKernels<L> dropping(BiFunction<L, OneDnnContext, IDropout> ownDropout) {
        return new LayerKernels<>(type, limits, maker, ownDropout, channels, arrays);
    }

    /** The reasons for the lack of a twin. */
    public interface Limits<L extends Layer> {
        /** Returns why a layer has no twin in a precision; empty if it has one. */
        Optional<String> of(L layer, Precision precision);
    }

    /** Makes twins, which are {@link AutoCloseable}. */
    public interface Maker {
        org.deeplearning4j.nn.api.Layer make(NeuralNetConfiguration conf, DataType type, OneDnnContext context);
    }

    public Optional<String> without(Layer layer, Precision precision) {
        return limits.of(type.cast(layer), precision);
    }

    /** Returns the input dropout that the wrapper applies; null for none. */
    public IDropout dropoutOf(Layer layer, OneDnnContext context) {
        return dropout.apply(type.cast(layer), context);
    }

    public ChannelAxis channelsOf(Layer layer) {
        return channels.apply(type.cast(layer));
    }

    /** Returns the reason for the lack of a kernel for something. */
    public static Optional<String> because(String what) {
        return Optional.of("it has no kernel for " + what);
    }
}
