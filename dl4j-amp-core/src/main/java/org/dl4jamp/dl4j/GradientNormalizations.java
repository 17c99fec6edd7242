package org.dl4jamp.dl4j;

import java.util.HashMap;
import java.util.Map;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;

/**
 * DL4J's gradient normalization, which its updater has as a method for the gradients of one layer, by the names of
 * parameters in that layer. In a network's gradients the layer's name stands before an underscore.
 */
public final class GradientNormalizations {
    private GradientNormalizations() {}

    /**
     * Normalizes or clips gradients in place, for the layers that are configured so, as DL4J's updater does before it
     * applies updaters.
     *
     * @param updater a network's
     */
    public static void apply(BaseMultiLayerUpdater<?> updater, UpdaterCall call) {
        Map<String, Gradient> ofLayers = new HashMap<>();
        call.gradient().gradientForVariable().forEach((name, gradient) -> {
            int end = name.lastIndexOf('_');
            ofLayers.computeIfAbsent(name.substring(0, end), layer -> new DefaultGradient())
                    .setGradientFor(name.substring(end + 1), gradient);
        });
        ofLayers.forEach(
                (name, gradient) -> updater.preApply(updater.getLayersByName().get(name), gradient, call.iteration()));
    }
}
