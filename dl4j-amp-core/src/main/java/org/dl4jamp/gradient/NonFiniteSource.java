package org.dl4jamp.gradient;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.api.Layer;
import org.dl4jamp.dl4j.ParameterGradients;
import org.dl4jamp.layer.UnscalingVertex;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.LayerPlace;
import org.dl4jamp.network.VertexPlace;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Looks for what made a step of a network fail. */
public record NonFiniteSource(AmpNetwork network) {
    /**
     * Returns the first infinity or NaN in the batch, such as {@code features 0 contain NaN at [0, 3]}; empty if there
     * is none. Labels may hold null.
     */
    public Optional<String> inBatch(Collection<INDArray> labels) {
        return nonFinite("features", network.features()).or(() -> nonFinite("labels", new ArrayList<>(labels)));
    }

    private static Optional<String> nonFinite(String what, List<INDArray> arrays) {
        for (int i = 0; i < arrays.size(); i++) {
            Optional<String> where = FiniteCheck.firstNonFinite(arrays.get(i));
            if (where.isPresent()) {
                return Optional.of(what + " " + i + " contain " + where.get());
            }
        }
        return Optional.empty();
    }

    /**
     * Returns the parameter whose gradient was the first not to be finite, such as {@code parameter "W" of layer "0"};
     * empty if all are finite. Gradients flow from the last layer to the first.
     */
    public Optional<String> amongParameters() {
        List<LayerPlace> places = new ArrayList<>(network.layers());
        Collections.reverse(places);
        for (LayerPlace place : places) {
            Layer layer = place.current().get();
            INDArray view = layer.getGradientsViewArray();
            if (view == null || FiniteCheck.isFinite(view)) {
                continue;
            }
            for (Map.Entry<String, INDArray> entry : ParameterGradients.of(
                            layer, network.model().params(), network.gradients())
                    .entrySet()) {
                if (!FiniteCheck.isFinite(entry.getValue())) {
                    return Optional.of("parameter \"" + entry.getKey() + "\" of layer \"" + place.name() + "\"");
                }
            }
        }
        for (VertexPlace place : network.vertices()) {
            if (StandIn.behind(place.current().get()) instanceof UnscalingVertex vertex) {
                for (Map.Entry<String, INDArray> entry : vertex.gradients().entrySet()) {
                    if (!FiniteCheck.isFinite(entry.getValue())) {
                        return Optional.of("parameter \"" + entry.getKey() + "\" of vertex \"" + place.name() + "\"");
                    }
                }
            }
        }
        return Optional.empty();
    }
}
