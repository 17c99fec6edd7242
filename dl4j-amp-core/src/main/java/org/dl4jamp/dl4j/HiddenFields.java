package org.dl4jamp.dl4j;

import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.point;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.BaseGraphVertex;
import org.deeplearning4j.nn.graph.vertex.BaseWrapperVertex;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.L2Vertex;
import org.deeplearning4j.nn.graph.vertex.impl.LayerVertex;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.layers.BaseLayer;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;
import org.deeplearning4j.nn.layers.recurrent.BidirectionalLayer;
import org.deeplearning4j.nn.layers.samediff.SameDiffGraphVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.Solver;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Access to private fields of DL4J's classes that mixed precision has to change or read. */
public final class HiddenFields {
    private static final VarHandle UNDERLYING = field(BaseWrapperVertex.class, "underlying", GraphVertex.class);
    private static final VarHandle GRAPH_OF_VERTEX = field(BaseGraphVertex.class, "graph", ComputationGraph.class);
    private static final VarHandle LEAST_OF_VERTEX = field(L2Vertex.class, "eps", double.class);
    private static final VarHandle STATE_BETWEEN_CALLS = field(BaseRecurrentLayer.class, "stateMap", Map.class);
    private static final VarHandle STATE_BETWEEN_SEGMENTS = field(BaseRecurrentLayer.class, "tBpttStateMap", Map.class);
    private static final VarHandle LAYERS_BY_NAME = field(MultiLayerNetwork.class, "layerMap", LinkedHashMap.class);
    private static final VarHandle LISTENERS_OF_LAYERS = listeners(MultiLayerNetwork.class);
    private static final VarHandle LISTENERS_OF_GRAPH = listeners(ComputationGraph.class);
    private static final VarHandle LISTENERS_OF_OPTIMIZER = listeners(BaseOptimizer.class);
    private static final VarHandle SOLVER_OF_LAYERS = field(MultiLayerNetwork.class, "solver", Solver.class);
    private static final VarHandle SOLVER_OF_GRAPH = field(ComputationGraph.class, "solver", Solver.class);
    private static final VarHandle MASKS_OF_VERTEX = field(SameDiffGraphVertex.class, "maskArrays", INDArray[].class);
    private static final VarHandle GRADIENTS_OF_VERTEX = field(SameDiffGraphVertex.class, "gradTable", Map.class);

    private static final VarHandle DROPPED = field(AbstractLayer.class, "dropoutApplied", boolean.class);
    private static final VarHandle NOISE = field(BaseLayer.class, "weightNoiseParams", Map.class);
    private static final VarHandle FORWARDS = field(BidirectionalLayer.class, "fwd", Layer.class);
    private static final VarHandle BACKWARDS = field(BidirectionalLayer.class, "bwd", Layer.class);

    private HiddenFields() {}

    /**
     * Sets a layer's input on which its dropout, whose mask it has, was applied already.
     *
     * @param dropped for a bidirectional layer those of both directions, {@code [minibatch, size, time, 2]}
     */
    public static void setDropped(Layer layer, INDArray dropped, LayerWorkspaceMgr workspaceMgr) {
        if (layer instanceof BidirectionalLayer both) {
            setDropped((Layer) FORWARDS.get(both), direction(both, dropped, 0), workspaceMgr);
            setDropped((Layer) BACKWARDS.get(both), direction(both, dropped, 1), workspaceMgr);
        } else {
            layer.setInput(dropped, workspaceMgr);
            DROPPED.set((AbstractLayer<?>) layer, true);
        }
    }

    private static INDArray direction(BidirectionalLayer both, INDArray dropped, int direction) {
        INDArray one = dropped.get(all(), all(), all(), point(direction));
        Bidirectional conf = (Bidirectional) both.conf().getLayer();
        return (conf.getRNNDataFormat() == RNNFormat.NWC ? one.permute(0, 2, 1) : one).dup('c');
    }

    /** Returns whether a layer has drawn noisy weights for a step. */
    public static boolean hasNoise(Layer layer) {
        return layer instanceof BaseLayer && !((Map<?, ?>) NOISE.get(layer)).isEmpty();
    }

    /** Moves the noisy weights that one layer has drawn for a step to another layer. */
    @SuppressWarnings({"unchecked", "ReferenceEquality"})
    public static void moveNoise(Layer from, Layer to) {
        if (from instanceof BidirectionalLayer && to instanceof BidirectionalLayer) {
            moveNoise((Layer) FORWARDS.get(from), (Layer) FORWARDS.get(to));
            moveNoise((Layer) BACKWARDS.get(from), (Layer) BACKWARDS.get(to));
        } else if (from != to && to instanceof BaseLayer && hasNoise(from)) {
            Map<String, INDArray> drawn = new HashMap<>((Map<String, INDArray>) NOISE.get(from));
            from.clearNoiseWeightParams();
            ((Map<String, INDArray>) NOISE.get(to)).putAll(drawn);
        }
    }

    /** Returns access to a private field. */
    public static VarHandle field(Class<?> owner, String name, Class<?> type) {
        try {
            return MethodHandles.privateLookupIn(owner, MethodHandles.lookup()).findVarHandle(owner, name, type);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(
                    "This version of DL4J isn't supported: " + owner.getName() + " has no " + name, e);
        }
    }

    private static VarHandle listeners(Class<?> owner) {
        return field(owner, "trainingListeners", Collection.class);
    }

    private static VarHandle listeners(Model network) {
        return network instanceof ComputationGraph ? LISTENERS_OF_GRAPH : LISTENERS_OF_LAYERS;
    }

    /**
     * Gives a network another list of listeners, and its optimizer, if both have the same listeners. DL4J iterates over
     * its own list when it calls listeners. A change of that list in a listener's call ends in a
     * {@code ConcurrentModificationException}, or skips a listener. So the list is replaced, and the old one stays as
     * it is.
     *
     * @param listeners the network's own from now on
     */
    @SuppressWarnings("ReferenceEquality")
    public static void replaceListeners(Model network, List<TrainingListener> listeners) {
        Object before = listeners(network).getAndSet(network, listeners);
        Solver solver =
                (Solver) (network instanceof ComputationGraph ? SOLVER_OF_GRAPH : SOLVER_OF_LAYERS).get(network);
        if (solver != null
                && solver.getOptimizer() instanceof BaseOptimizer optimizer
                && isSame((Collection<?>) LISTENERS_OF_OPTIMIZER.get(optimizer), (Collection<?>) before)) {
            solver.setListeners(listeners);
        }
    }

    /** Returns whether two lists hold the same: DL4J's builder of solvers copies the network's. */
    private static boolean isSame(Collection<?> one, Collection<?> other) {
        return new ArrayList<>(one).equals(new ArrayList<>(other));
    }

    /** Runs work of a network's during which no listener of the network's is called. */
    public static <T> T inSilence(Model network, Supplier<T> work) {
        VarHandle field = listeners(network);
        Object before = field.getAndSet(network, List.of());
        try {
            return work.get();
        } finally {
            field.set(network, before);
        }
    }

    /** Puts a layer in the place of another. DL4J's getter returns the very array that it computes with. */
    @SuppressWarnings({"unchecked", "ReferenceEquality"})
    public static void replaceLayer(MultiLayerNetwork network, int index, Layer layer) {
        Layer[] layers = network.getLayers();
        ((Map<String, Layer>) LAYERS_BY_NAME.get(network))
                .replaceAll((name, there) -> there == layers[index] ? layer : there);
        layers[index] = layer;
    }

    /** Puts a layer in the place of a vertex' layer, in both fields that hold it. */
    @SuppressWarnings("ReferenceEquality")
    public static void replaceLayer(ComputationGraph graph, LayerVertex vertex, Layer layer) {
        Layer[] layers = graph.getLayers();
        for (int i = 0; i < layers.length; i++) {
            if (layers[i] == vertex.getLayer()) {
                layers[i] = layer;
            }
        }
        vertex.setLayer(layer);
    }

    /** Returns the vertex that a wrapper of DL4J's, such as that of frozen vertices, is around. */
    public static GraphVertex underlying(BaseWrapperVertex wrapper) {
        return (GraphVertex) UNDERLYING.get(wrapper);
    }

    /** Returns the graph that a vertex belongs to, which has the inputs and masks of the present pass. */
    public static ComputationGraph graph(BaseGraphVertex vertex) {
        return (ComputationGraph) GRAPH_OF_VERTEX.get(vertex);
    }

    /** Returns the least distance by which a vertex divides its gradients. */
    public static double least(L2Vertex vertex) {
        return (double) LEAST_OF_VERTEX.get(vertex);
    }

    /** Returns the parts of a graph's gradient view that belong to the parameters of a vertex, by their names. */
    @SuppressWarnings("unchecked")
    public static Map<String, INDArray> gradients(SameDiffGraphVertex vertex) {
        return (Map<String, INDArray>) GRADIENTS_OF_VERTEX.get(vertex);
    }

    /** Returns the masks of a vertex's inputs that it was given last; null if it was given none. */
    public static INDArray[] masks(SameDiffGraphVertex vertex) {
        return (INDArray[]) MASKS_OF_VERTEX.get(vertex);
    }

    /**
     * Has a recurrent layer keep its state in the maps of another one: what either writes counts for both, even in a
     * call that is in progress. What either returns of the state between calls is noted, see {@link SharedState}.
     */
    @SuppressWarnings("unchecked")
    public static void shareState(BaseRecurrentLayer<?> from, BaseRecurrentLayer<?> to) {
        Map<?, ?> shared = SharedState.of((Map<String, INDArray>) STATE_BETWEEN_CALLS.get(from));
        STATE_BETWEEN_CALLS.set(from, shared);
        STATE_BETWEEN_CALLS.set(to, shared);
        STATE_BETWEEN_SEGMENTS.set(to, (Map<?, ?>) STATE_BETWEEN_SEGMENTS.get(from));
    }

    /** Returns whether two layers keep their state in the same maps. */
    public static boolean isStateShared(BaseRecurrentLayer<?> one, BaseRecurrentLayer<?> other) {
        return STATE_BETWEEN_CALLS.get(one) == STATE_BETWEEN_CALLS.get(other)
                && STATE_BETWEEN_SEGMENTS.get(one) == STATE_BETWEEN_SEGMENTS.get(other);
    }
}
