package org.dl4jamp.layer;

import java.util.Collection;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.layers.LayerHelper;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A layer that passes every call on to the network's own layer, the master. It isn't DL4J's {@code BaseWrapperLayer}
 * because the networks look through that one at what it wraps, and would compute in the master behind our back.
 */
abstract class DelegatingLayer extends DelegatingModel implements Layer {
    private static final long serialVersionUID = 1L;

    DelegatingLayer(Layer master) {
        super(master);
    }

    @Override
    public void setCacheMode(CacheMode mode) {
        master().setCacheMode(mode);
    }

    @Override
    public double calcRegularizationScore(boolean backpropOnlyParams) {
        return master().calcRegularizationScore(backpropOnlyParams);
    }

    @Override
    public Type type() {
        return master().type();
    }

    @Override
    public Collection<TrainingListener> getListeners() {
        return master().getListeners();
    }

    @Override
    public void setIndex(int index) {
        master().setIndex(index);
    }

    @Override
    public int getIndex() {
        return master().getIndex();
    }

    @Override
    public int getIterationCount() {
        return master().getIterationCount();
    }

    @Override
    public int getEpochCount() {
        return master().getEpochCount();
    }

    @Override
    public void setIterationCount(int iterationCount) {
        master().setIterationCount(iterationCount);
    }

    @Override
    public void setEpochCount(int epochCount) {
        master().setEpochCount(epochCount);
    }

    @Override
    public void setInputMiniBatchSize(int size) {
        master().setInputMiniBatchSize(size);
    }

    @Override
    public int getInputMiniBatchSize() {
        return master().getInputMiniBatchSize();
    }

    @Override
    public void setMaskArray(INDArray maskArray) {
        master().setMaskArray(maskArray);
    }

    @Override
    public INDArray getMaskArray() {
        return master().getMaskArray();
    }

    @Override
    public boolean isPretrainLayer() {
        return master().isPretrainLayer();
    }

    @Override
    public void clearNoiseWeightParams() {
        master().clearNoiseWeightParams();
    }

    @Override
    public void allowInputModification(boolean allow) {
        master().allowInputModification(allow);
    }

    @Override
    public Pair<INDArray, MaskState> feedForwardMaskArray(
            INDArray maskArray, MaskState currentMaskState, int minibatchSize) {
        return master().feedForwardMaskArray(maskArray, currentMaskState, minibatchSize);
    }

    @Override
    public LayerHelper getHelper() {
        return master().getHelper();
    }
}
