package org.dl4jamp.onednn;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.Subsampling1DLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.recurrent.TimeDistributed;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.conf.layers.wrapper.BaseWrapperLayer;
import org.dl4jamp.onednn.attention.AttentionLayers;
import org.dl4jamp.onednn.capsule.CapsuleLayers;
import org.dl4jamp.onednn.embedding.EmbeddingLayers;
import org.dl4jamp.onednn.linear.ProductLayers;
import org.dl4jamp.onednn.local.LocalLayers;
import org.dl4jamp.onednn.normalization.NormalizationLayers;
import org.dl4jamp.onednn.output.OutputLayers;
import org.dl4jamp.onednn.pooling.PoolingLayers;
import org.dl4jamp.onednn.pretrained.PretrainedLayers;
import org.dl4jamp.onednn.recurrent.RecurrentLayers;
import org.dl4jamp.onednn.samediff.SameDiffLayers;
import org.dl4jamp.onednn.shape.ShapeLayers;
import org.dl4jamp.onednn.twin.ElementWiseLayers;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.onednn.user.UserKernels;
import org.dl4jamp.precision.Precision;

/** The layers that have a twin. */
final class Coverage {
    private static final Map<Class<?>, LayerKernels<?>> KERNELS = Stream.of(
                    ProductLayers.kernels(),
                    LocalLayers.kernels(),
                    OutputLayers.kernels(),
                    RecurrentLayers.kernels(),
                    AttentionLayers.kernels(),
                    EmbeddingLayers.kernels(),
                    PretrainedLayers.kernels(),
                    PoolingLayers.kernels(),
                    NormalizationLayers.kernels(),
                    ElementWiseLayers.kernels(),
                    ShapeLayers.kernels(),
                    CapsuleLayers.kernels())
            .flatMap(List::stream)
            .collect(Collectors.toUnmodifiableMap(LayerKernels::type, Function.identity()));

    private Coverage() {}

    /** Returns the kernels for a layer's class. Subclasses may compute anything, and have none. */
    static Optional<LayerKernels<?>> of(Layer layer, UserKernels users) {
        return Optional.<LayerKernels<?>>ofNullable(KERNELS.get(layer.getClass()))
                .or(() -> users.of(layer))
                .or(() -> SameDiffLayers.of(layer));
    }

    /** Returns whether SameDiff computes a layer, unless a user has a kernel for it. */
    static boolean isLeftToSameDiff(Layer layer) {
        return !KERNELS.containsKey(layer.getClass()) && SameDiffLayers.isComputedBySameDiff(layer);
    }

    /** Finds the kernels of users' own. */
    static UserKernels users() {
        return UserKernels.found(KERNELS::containsKey);
    }

    /** Returns the classes of layers that have kernels. */
    static Stream<Class<?>> types() {
        return KERNELS.keySet().stream();
    }

    /**
     * Returns why a layer has no twin in a precision; empty if it has one. DL4J's wrappers stay, and the layer inside
     * gets a twin. A user's wrappers are left alone.
     */
    static Optional<String> without(Layer layer, Precision precision, UserKernels users) {
        Class<?> type = layer.getClass();
        if (type == LastTimeStep.class || type == FrozenLayerWithBackprop.class || type == TimeDistributed.class) {
            return without(((BaseWrapperLayer) layer).getUnderlying(), precision, users);
        }
        if (type == FrozenLayer.class) {
            return without(((FrozenLayer) layer).getLayer(), precision, users);
        }
        if (type == MaskZeroLayer.class) {
            Layer inner = ((MaskZeroLayer) layer).getUnderlying();
            return !(inner instanceof BaseRecurrentLayer) && hasFeaturesLast(inner)
                    ? Optional.of("DL4J takes features for time steps when it masks "
                            + inner.getClass().getSimpleName() + " in format NWC")
                    : without(inner, precision, users);
        }
        return of(layer, users)
                .map(kernels -> kernels.without(layer, precision))
                .orElseGet(() -> LayerKernels.because(layer.getClass().getSimpleName()));
    }

    /** Returns the same without kernels of users' own. */
    static Optional<String> without(Layer layer, Precision precision) {
        return without(layer, precision, UserKernels.NONE);
    }

    private static boolean hasFeaturesLast(Layer layer) {
        if (layer instanceof BaseRecurrentLayer recurrent) {
            return recurrent.getRnnDataFormat() == RNNFormat.NWC;
        }
        if (layer instanceof Convolution1DLayer convolution) {
            return convolution.getRnnDataFormat() == RNNFormat.NWC;
        }
        if (layer instanceof Subsampling1DLayer pooling) {
            return pooling.getCnn2dDataFormat() == CNN2DFormat.NHWC;
        }
        if (layer instanceof BaseWrapperLayer wrapper) {
            return hasFeaturesLast(wrapper.getUnderlying());
        }
        if (layer instanceof FrozenLayer frozen) {
            return hasFeaturesLast(frozen.getLayer());
        }
        return layer instanceof Bidirectional both && hasFeaturesLast(both.getFwd());
    }
}
