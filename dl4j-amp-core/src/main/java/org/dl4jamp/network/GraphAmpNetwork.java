package org.dl4jamp.network;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.BaseGraphVertex;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.FrozenVertex;
import org.deeplearning4j.nn.graph.vertex.impl.LayerVertex;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.dl4j.HiddenFields;
import org.dl4jamp.dl4j.HookedUpdater;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A ComputationGraph. */
record GraphAmpNetwork(ComputationGraph model) implements AmpNetwork {
    @Override
    public NetworkGraph graph() {
        return NetworkGraph.of(model.getConfiguration());
    }

    @Override
    public BackpropType backpropType() {
        return model.getConfiguration().getBackpropType();
    }

    @Override
    public boolean isInitialized() {
        return model.params() != null && model.getVertices() != null;
    }

    @Override
    public List<String> order() {
        GraphVertex[] vertices = model.getVertices();
        return Arrays.stream(model.topologicalSortOrder())
                .mapToObj(index -> vertices[index].getVertexName())
                .toList();
    }

    @Override
    public List<Place<Layer>> layers() {
        List<Place<Layer>> places = new ArrayList<>();
        for (NetworkGraph.Node node : graph().nodes()) {
            if (model.getVertex(node.name()) instanceof LayerVertex vertex) {
                places.add(Place.innermost(new Place<>(
                        node.name(), vertex::getLayer, layer -> HiddenFields.replaceLayer(model, vertex, layer))));
            }
        }
        return places;
    }

    @Override
    public Optional<BaseGraphVertex> castingVertex(String name) {
        return withType(model.getVertex(name)) instanceof BaseGraphVertex vertex && vertex.getDataType() != null
                ? Optional.of(vertex)
                : Optional.empty();
    }

    /** Returns what casts: DL4J's clone(), and what was restored, have frozen vertices around those that compute. */
    private static GraphVertex withType(GraphVertex vertex) {
        return vertex instanceof FrozenVertex frozen ? withType(HiddenFields.underlying(frozen)) : vertex;
    }

    @Override
    public List<Place<GraphVertex>> vertices() {
        GraphVertex[] vertices = model.getVertices();
        List<Place<GraphVertex>> places = new ArrayList<>();
        for (int i = 0; i < vertices.length; i++) {
            int index = i;
            if (!vertices[i].hasLayer() && !vertices[i].isInputVertex() && !(vertices[i] instanceof FrozenVertex)) {
                places.add(new Place<>(
                        vertices[i].getVertexName(), () -> vertices[index], vertex -> vertices[index] = vertex));
            }
        }
        return places;
    }

    @Override
    public void initGradients() {
        model.initGradientsView();
    }

    @Override
    public void setScore(double score) {
        model.setScore(score);
    }

    @Override
    public Collection<TrainingListener> listeners() {
        return model.getListeners();
    }

    @Override
    public Map<String, INDArray> outputs() {
        Map<String, INDArray> activations = model.feedForward(true, false, false);
        Map<String, INDArray> outputs = new LinkedHashMap<>();
        order().stream()
                .filter(name -> !model.getVertex(name).isInputVertex())
                .forEach(name -> outputs.put(name, activations.get(name)));
        return outputs;
    }

    @Override
    public INDArray output(INDArray features) {
        if (model.getNumInputArrays() != 1 || model.getNumOutputArrays() != 1) {
            throw new AmpException("The network has " + model.getNumInputArrays() + " inputs and "
                    + model.getNumOutputArrays() + " outputs; InferenceMode.output is for networks with one of each."
                    + " Call the network's own output");
        }
        return model.outputSingle(features);
    }

    @Override
    public List<INDArray> features() {
        return model.getInputs() == null ? List.of() : Arrays.asList(model.getInputs());
    }

    @Override
    public BaseMultiLayerUpdater<?> updater() {
        return model.getUpdater(false);
    }

    @Override
    public void setUpdater(BaseMultiLayerUpdater<?> updater) {
        model.setUpdater((ComputationGraphUpdater) updater);
    }

    @Override
    public BaseMultiLayerUpdater<?> plainUpdater(INDArray state) {
        return new ComputationGraphUpdater(model, state);
    }

    @Override
    public BaseMultiLayerUpdater<?> hookedUpdater(INDArray state, Function<HookedUpdater, Consumer<UpdaterCall>> hook) {
        return new HookedUpdater.OfGraph(model, state, hook);
    }
}
