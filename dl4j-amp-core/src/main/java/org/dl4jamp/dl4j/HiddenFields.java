package org.dl4jamp.dl4j;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.LinkedHashMap;
import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.vertex.BaseWrapperVertex;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/** Access to private fields of DL4J's classes that mixed precision has to change or read. */
public final class HiddenFields {
    private static final VarHandle LAYER_MAP = field(MultiLayerNetwork.class, "layerMap", LinkedHashMap.class);
    private static final VarHandle UNDERLYING = field(BaseWrapperVertex.class, "underlying", GraphVertex.class);

    private HiddenFields() {}

    static VarHandle field(Class<?> owner, String name, Class<?> type) {
        try {
            return MethodHandles.privateLookupIn(owner, MethodHandles.lookup()).findVarHandle(owner, name, type);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(
                    "This version of DL4J isn't supported: " + owner.getName() + " has no " + name, e);
        }
    }

    /**
     * Puts a layer in the place of another where a network looks layers up by name. Nothing happens if the other isn't
     * there.
     */
    @SuppressWarnings({"unchecked", "ReferenceEquality"})
    public static void replaceByName(MultiLayerNetwork network, Layer before, Layer layer) {
        for (Map.Entry<String, Layer> entry : ((Map<String, Layer>) LAYER_MAP.get(network)).entrySet()) {
            if (entry.getValue() == before) {
                entry.setValue(layer);
            }
        }
    }

    /** Returns the vertex that a wrapper of DL4J's, such as that of frozen vertices, is around. */
    public static GraphVertex underlying(BaseWrapperVertex wrapper) {
        return (GraphVertex) UNDERLYING.get(wrapper);
    }
}
