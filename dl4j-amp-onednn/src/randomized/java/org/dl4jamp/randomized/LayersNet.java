package org.dl4jamp.randomized;

import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.layers.RecurrentLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.AmpModelSerializer;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** A MultiLayerNetwork. */
record LayersNet(MultiLayerNetwork model) implements Net {
    @Override
    public void fit(Batch batch, int variant) {
        if (variant == 0) {
            Batch copy = batch.copy();
            model.fit(copy.features()[0], copy.labels()[0], copy.featureMasks()[0], copy.labelMasks()[0]);
        } else if (variant == 1) {
            model.fit(batch.multiDataSet());
        } else {
            model.fit(batch.dataSet());
        }
    }

    @Override
    public void fit(List<Batch> batches, int epochs) {
        model.fit(
                new ExistingDataSetIterator(batches.stream().map(Batch::dataSet).toList()), epochs);
    }

    @Override
    public Map<String, INDArray> output(Batch batch, boolean training, boolean masks) {
        Batch copy = batch.copy();
        return Map.of(
                "output",
                masks
                        ? model.output(copy.features()[0], training, copy.featureMasks()[0], copy.labelMasks()[0])
                        : model.output(copy.features()[0], training));
    }

    private static Map<String, INDArray> named(List<INDArray> activations) {
        Map<String, INDArray> named = new TreeMap<>();
        for (int i = 0; i < activations.size(); i++) {
            named.put(String.valueOf(i - 1), activations.get(i));
        }
        return named;
    }

    @Override
    public Map<String, INDArray> feedForward(Batch batch, boolean training) {
        return named(model.feedForward(batch.copy().features()[0], training));
    }

    @Override
    public Map<String, INDArray> selected(Batch batch, Draw draw, boolean training) {
        INDArray features = batch.copy().features()[0];
        int last = model.getnLayers() - 1;
        if (last > 0 && draw.chance(0.5)) {
            // DL4J's preprocessors take the number of examples from the last input, which may be of another thread.
            model.setInput(features);
            return Map.of("selected", model.activateSelectedLayers(0, draw.between(1, last), features));
        }
        return named(model.feedForwardToLayer(draw.between(0, last), features, training));
    }

    @Override
    public double score(Batch batch, boolean training) {
        return model.score(batch.dataSet(), training);
    }

    @Override
    public Map<String, INDArray> gradients(Batch batch, int variant) {
        Batch copy = batch.copy();
        Map<String, INDArray> gradients = new TreeMap<>();
        if (variant == 0) {
            var both = model.calculateGradients(
                    copy.features()[0], copy.labels()[0], copy.featureMasks()[0], copy.labelMasks()[0]);
            put(gradients, both.getFirst(), model);
            gradients.put("epsilon", both.getSecond());
        } else {
            model.setInput(copy.features()[0]);
            model.setLabels(copy.labels()[0]);
            model.setLayerMaskArrays(copy.featureMasks()[0], copy.labelMasks()[0]);
            model.computeGradientAndScore();
            put(gradients, model.gradient(), model);
            gradients.put("score", Nd4j.scalar(model.score()));
            model.clearLayerMaskArrays();
        }
        return gradients;
    }

    /** Gradients of parameters: stock DL4J lists some of gamma and beta that a layer hasn't, too. */
    static void put(Map<String, INDArray> into, Gradient gradient, Model model) {
        gradient.gradientForVariable().forEach((name, array) -> into.put(name, array));
        into.keySet().retainAll(model.paramTable().keySet());
    }

    @Override
    public Map<String, INDArray> externalStep(Batch batch) {
        Batch copy = batch.copy();
        model.setInput(copy.features()[0]);
        model.feedForward(true, false);
        Pair<Gradient, INDArray> both = model.backpropGradient(copy.labels()[0], LayerWorkspaceMgr.noWorkspaces());
        Map<String, INDArray> gradients = new TreeMap<>();
        put(gradients, both.getFirst(), model);
        gradients.replaceAll((name, gradient) -> gradient.dup());
        if (both.getSecond() != null) {
            gradients.put("epsilon", both.getSecond().dup());
        }
        int examples = (int) copy.features()[0].size(0);
        model.getUpdater()
                .update(
                        model,
                        both.getFirst(),
                        model.getIterationCount(),
                        model.getEpochCount(),
                        examples,
                        LayerWorkspaceMgr.noWorkspaces());
        model.params().subi(both.getFirst().gradient());
        return gradients;
    }

    /** Pretrains the first layer: DL4J gives the network's input to any other. */
    @Override
    public void pretrain(Batch batch) {
        model.pretrainLayer(0, batch.copy().features()[0]);
    }

    @Override
    public Map<String, INDArray> timeSteps(Batch batch, boolean whole) {
        INDArray features = batch.copy().features()[0];
        INDArray input = whole || features.rank() != 3
                ? features
                : features.get(NDArrayIndex.all(), NDArrayIndex.all(), NDArrayIndex.point(0))
                        .dup();
        return Map.of("step", model.rnnTimeStep(input));
    }

    @Override
    public Map<String, INDArray> storedState(Batch batch, boolean training) {
        return named(model.rnnActivateUsingStoredState(batch.copy().features()[0], training, true));
    }

    @Override
    public Map<String, INDArray> states() {
        Map<String, INDArray> states = new TreeMap<>();
        for (int i = 0; i < model.getnLayers(); i++) {
            if (model.getLayer(i) instanceof RecurrentLayer) {
                int layer = i;
                Map<String, INDArray> state = model.rnnGetPreviousState(i);
                if (state != null) {
                    state.forEach((name, array) -> states.put(layer + name, array));
                }
            }
        }
        return states;
    }

    @Override
    public void clearState() {
        model.rnnClearPreviousState();
    }

    @Override
    public void setLearningRate(double rate) {
        // DL4J rebuilds the updater's state, which fails for some networks, only if there is an updater already.
        model.getUpdater();
        model.setLearningRate(rate);
    }

    @Override
    public int epochs() {
        return model.getEpochCount();
    }

    @Override
    public void countEpoch() {
        model.incrementEpochCount();
    }

    @Override
    public int iterations() {
        return model.getIterationCount();
    }

    @Override
    public void setIterations(int iterations) {
        model.getLayerWiseConfigurations().setIterationCount(iterations);
    }

    @Override
    public Net copy() {
        LayersNet copy = new LayersNet(model.clone());
        copy.model.setListeners(List.of());
        return copy;
    }

    @Override
    public Net inDouble() {
        return new LayersNet(model.convertDataType(DataType.DOUBLE));
    }

    @Override
    public Net restored(File file) throws IOException {
        return new LayersNet(ModelSerializer.restoreMultiLayerNetwork(file, true));
    }

    @Override
    public Net restoredInMixedPrecision(File file) throws IOException {
        return new LayersNet(AmpModelSerializer.restoreMultiLayerNetwork(file, true));
    }
}
