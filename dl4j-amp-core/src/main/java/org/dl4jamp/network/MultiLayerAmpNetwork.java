package org.dl4jamp.network;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.MultiLayerUpdater;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.dl4j.HiddenFields;
import org.dl4jamp.dl4j.HookedUpdater;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.policy.NetworkGraph;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A MultiLayerNetwork. */
record MultiLayerAmpNetwork(MultiLayerNetwork model) implements AmpNetwork {
    @Override
    public NetworkGraph graph() {
        return NetworkGraph.of(model.getLayerWiseConfigurations());
    }

    @Override
    public BackpropType backpropType() {
        return model.getLayerWiseConfigurations().getBackpropType();
    }

    @Override
    public boolean isInitialized() {
        return model.isInitCalled();
    }

    @Override
    public List<String> order() {
        return graph().nodes().stream().map(NetworkGraph.Node::name).toList();
    }

    @Override
    public List<Place<Layer>> layers() {
        Layer[] layers = model.getLayers();
        List<Place<Layer>> places = new ArrayList<>();
        for (NetworkGraph.Node node : graph().nodes()) {
            if (node.layer() != null) {
                int i = node.index();
                places.add(Place.innermost(new Place<>(
                        node.name(), () -> layers[i], layer -> HiddenFields.replaceLayer(model, i, layer))));
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
        List<INDArray> activations = model.feedForward(true, false);
        Map<String, INDArray> outputs = new LinkedHashMap<>();
        graph().layers().forEach(node -> outputs.put(node.name(), activations.get(node.index() + 1)));
        return outputs;
    }

    @Override
    public INDArray output(INDArray features) {
        return model.output(features);
    }

    @Override
    public List<INDArray> features() {
        return Arrays.asList(model.getInput());
    }

    @Override
    public BaseMultiLayerUpdater<?> updater() {
        return (BaseMultiLayerUpdater<?>) model.getUpdater(false);
    }

    @Override
    public void setUpdater(BaseMultiLayerUpdater<?> updater) {
        model.setUpdater(updater);
    }

    @Override
    public BaseMultiLayerUpdater<?> plainUpdater(INDArray state) {
        return new MultiLayerUpdater(model, state);
    }

    @Override
    public BaseMultiLayerUpdater<?> hookedUpdater(INDArray state, Function<HookedUpdater, Consumer<UpdaterCall>> hook) {
        return new HookedUpdater.OfLayers(model, state, hook);
    }
}
