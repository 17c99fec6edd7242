package org.dl4jamp.network;

import java.util.function.Consumer;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.layers.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;
import org.deeplearning4j.nn.layers.recurrent.LastTimeStepLayer;
import org.deeplearning4j.nn.layers.recurrent.MaskZeroLayer;
import org.deeplearning4j.nn.layers.recurrent.TimeDistributedLayer;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.dl4jamp.layer.standin.StandIns;

/**
 * The place of a layer or vertex in a network, in which another can be put.
 *
 * @param name the name in the plan
 * @param current reads the layer or vertex in that place
 * @param replace puts another there
 */
public record Place<T>(String name, Supplier<T> current, Consumer<T> replace) {
    /**
     * Returns a layer's place inside DL4J's own wrappers, which have to stay: by the wrapper's class networks find out
     * whether a layer is frozen, and take the last time step.
     */
    static Place<Layer> innermost(Place<Layer> place) {
        Layer layer = place.current().get();
        boolean staysOutside = layer instanceof FrozenLayer
                || layer instanceof FrozenLayerWithBackprop
                || layer instanceof LastTimeStepLayer
                || layer instanceof TimeDistributedLayer
                || (layer instanceof MaskZeroLayer mask && !looksAtItsLayersClass(mask));
        if (!staysOutside) {
            return place;
        }
        BaseWrapperLayer wrapper = (BaseWrapperLayer) layer;
        return innermost(new Place<>(place.name(), wrapper::getUnderlying, wrapper::setUnderlying));
    }

    // DL4J takes anything but its own recurrent layers for one with the features first.
    private static boolean looksAtItsLayersClass(MaskZeroLayer mask) {
        return mask.getUnderlying() instanceof BaseRecurrentLayer<?> layer
                && layer.getDataFormat() == RNNFormat.NWC
                && !StandIns.isSuitable(layer.getClass());
    }
}
