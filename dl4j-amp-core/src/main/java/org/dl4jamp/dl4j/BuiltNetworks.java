package org.dl4jamp.dl4j;

import java.lang.invoke.VarHandle;
import java.util.LinkedHashMap;
import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.impl.LayerVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/**
 * Puts layers and vertices into networks that are initialized. DL4J's getters return the very arrays that it computes
 * with, and several of its fields hold the same layer: all of them have to change.
 */
public final class BuiltNetworks {
    private static final VarHandle LAYERS_BY_NAME =
            HiddenFields.field(MultiLayerNetwork.class, "layerMap", LinkedHashMap.class);

    private BuiltNetworks() {}

    /** Puts a layer in the place of another. */
    @SuppressWarnings({"unchecked", "ReferenceEquality"})
    public static void replace(MultiLayerNetwork network, int index, Layer layer) {
        Layer[] layers = network.getLayers();
        ((Map<String, Layer>) LAYERS_BY_NAME.get(network))
                .replaceAll((name, there) -> there == layers[index] ? layer : there);
        layers[index] = layer;
    }

    /** Puts a layer in the place of a vertex' layer. */
    @SuppressWarnings("ReferenceEquality")
    public static void replace(ComputationGraph graph, LayerVertex vertex, Layer layer) {
        Layer[] layers = graph.getLayers();
        for (int i = 0; i < layers.length; i++) {
            if (layers[i] == vertex.getLayer()) {
                layers[i] = layer;
            }
        }
        vertex.setLayer(layer);
    }
}
