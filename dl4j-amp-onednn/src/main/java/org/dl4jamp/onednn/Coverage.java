package org.dl4jamp.onednn;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.Precision;

/** Which layers have a twin. */
final class Coverage {
    private static final Map<Class<?>, LayerKernels<?>> KERNELS = Stream.of(
                    ProductLayers.kernels(),
                    OutputLayers.kernels(),
                    RecurrentLayers.kernels(),
                    PoolingLayers.kernels(),
                    NormalizationLayers.kernels(),
                    ElementWiseLayers.kernels(),
                    ShapeLayers.kernels())
            .flatMap(List::stream)
            .collect(Collectors.toUnmodifiableMap(LayerKernels::type, Function.identity()));

    private Coverage() {}

    /** What there is for a layer's class. Subclasses may compute anything, and have nothing. */
    static Optional<LayerKernels<?>> of(Layer layer) {
        return Optional.ofNullable(KERNELS.get(layer.getClass()));
    }

    /** Why a layer has no twin in a precision, empty if it has one. */
    static Optional<String> without(Layer layer, Precision precision) {
        return of(layer)
                .map(kernels -> kernels.without(layer, precision))
                .orElseGet(() -> LayerKernels.because(layer.getClass().getSimpleName()));
    }
}
