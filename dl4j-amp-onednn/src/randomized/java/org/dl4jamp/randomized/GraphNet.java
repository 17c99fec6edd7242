package org.dl4jamp.randomized;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.AmpModelSerializer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.adapter.SingletonMultiDataSetIterator;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** A ComputationGraph. */
record GraphNet(ComputationGraph model) implements Net {
    @Override
    public void fit(Batch batch, int variant) {
        if (variant == 0) {
            Batch copy = batch.copy();
            model.fit(
                    copy.features(),
                    copy.labels(),
                    copy.hasMasks() ? copy.featureMasks() : null,
                    copy.hasMasks() ? copy.labelMasks() : null);
        } else {
            model.fit(batch.multiDataSet());
        }
    }

    @Override
    public void fit(List<Batch> batches, int epochs) {
        model.fit(new BatchIterator(batches), epochs);
    }

    private static Map<String, INDArray> named(INDArray[] outputs) {
        Map<String, INDArray> named = new TreeMap<>();
        for (int i = 0; i < outputs.length; i++) {
            named.put("output" + i, outputs[i]);
        }
        return named;
    }

    @Override
    public Map<String, INDArray> output(Batch batch, boolean training, boolean masks) {
        Batch copy = batch.copy();
        return named(
                masks
                        ? model.output(training, copy.features(), copy.featureMasks(), copy.labelMasks())
                        : model.output(training, copy.features()));
    }

    @Override
    public Map<String, INDArray> feedForward(Batch batch, boolean training) {
        return new TreeMap<>(model.feedForward(batch.copy().features(), training));
    }

    @Override
    public Map<String, INDArray> selected(Batch batch, Draw draw, boolean training) {
        INDArray[] features = batch.copy().features();
        List<String> layers = Arrays.stream(model.getLayers())
                .map(layer -> layer.conf().getLayer().getLayerName())
                .toList();
        if (draw.chance(0.5)) {
            List<String> chosen = List.of(draw.from(layers));
            return named(model.output(chosen, false, features, null));
        }
        return new TreeMap<>(model.feedForward(features, draw.between(0, layers.size() - 1), training));
    }

    @Override
    public double score(Batch batch, boolean training) {
        double score = model.score(batch.multiDataSet(), training);
        // Stock graphs keep the masks up to the next step, which is another one where a step fails.
        model.clearLayerMaskArrays();
        return score;
    }

    @Override
    public Map<String, INDArray> gradients(Batch batch, int variant) {
        Batch copy = batch.copy();
        Map<String, INDArray> gradients = new TreeMap<>();
        model.setInputs(copy.features());
        model.setLabels(copy.labels());
        if (copy.hasMasks()) {
            model.setLayerMaskArrays(copy.featureMasks(), copy.labelMasks());
        }
        if (variant == 0) {
            model.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
        } else {
            model.computeGradientAndScore();
        }
        LayersNet.put(gradients, model.gradient(), model);
        gradients.put("score", Nd4j.scalar(model.score()));
        model.clearLayerMaskArrays();
        return gradients;
    }

    @Override
    public Map<String, INDArray> externalStep(Batch batch) {
        Batch copy = batch.copy();
        model.feedForward(copy.features(), true, false);
        Gradient gradient = model.backpropGradient(copy.labels());
        Map<String, INDArray> gradients = new TreeMap<>();
        LayersNet.put(gradients, gradient, model);
        gradients.replaceAll((name, array) -> array.dup());
        ComputationGraphConfiguration configuration = model.getConfiguration();
        model.getUpdater()
                .update(
                        gradient,
                        configuration.getIterationCount(),
                        configuration.getEpochCount(),
                        (int) copy.features()[0].size(0),
                        LayerWorkspaceMgr.noWorkspaces());
        model.params().subi(gradient.gradient());
        return gradients;
    }

    @Override
    public void pretrain(Batch batch) {
        model.pretrain(new SingletonMultiDataSetIterator(batch.multiDataSet()));
        model.clearLayerMaskArrays();
    }

    @Override
    public Map<String, INDArray> timeSteps(Batch batch, boolean whole) {
        INDArray[] input = Arrays.stream(batch.copy().features())
                .map(features -> whole || features.rank() != 3
                        ? features
                        : features.get(NDArrayIndex.all(), NDArrayIndex.all(), NDArrayIndex.point(0))
                                .dup())
                .toArray(INDArray[]::new);
        return named(model.rnnTimeStep(input));
    }

    @Override
    public Map<String, INDArray> storedState(Batch batch, boolean training) {
        return new TreeMap<>(model.rnnActivateUsingStoredState(batch.copy().features(), training, true));
    }

    @Override
    public Map<String, INDArray> states() {
        Map<String, INDArray> states = new TreeMap<>();
        model.rnnGetPreviousStates().forEach((layer, state) -> {
            if (state != null) {
                state.forEach((name, array) -> states.put(layer + name, array));
            }
        });
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
        return model.getConfiguration().getIterationCount();
    }

    @Override
    public void setIterations(int iterations) {
        model.getConfiguration().setIterationCount(iterations);
    }

    @Override
    public Net copy() {
        GraphNet copy = new GraphNet(model.clone());
        copy.model.setListeners(List.of());
        return copy;
    }

    @Override
    public Net inDouble() {
        return new GraphNet(model.convertDataType(DataType.DOUBLE));
    }

    @Override
    public Net restored(File file) throws IOException {
        return new GraphNet(ModelSerializer.restoreComputationGraph(file, true));
    }

    @Override
    public Net restoredInMixedPrecision(File file) throws IOException {
        return new GraphNet(AmpModelSerializer.restoreComputationGraph(file, true));
    }
}
