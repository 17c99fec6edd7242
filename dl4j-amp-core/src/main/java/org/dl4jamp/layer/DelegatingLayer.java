package org.dl4jamp.layer;

import java.util.Collection;
import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.api.TrainingConfig;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.LayerHelper;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.layer.standin.Substitute;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A layer that passes every call on to the network's own layer, the master. It isn't DL4J's {@code BaseWrapperLayer} because the networks
 * look through that one at what it wraps, and would compute in the master behind our back.
 */
abstract class DelegatingLayer implements Layer, Substitute<Layer> {
    private static final long serialVersionUID = 1L;

    private final transient Layer master;

    DelegatingLayer(Layer master) {
        this.master = master;
    }

    /** The network's own layer, whose parameters are the master weights. */
    @Override
    public final Layer master() {
        return master;
    }

    @Override
    public void setCacheMode(CacheMode mode) {
        master.setCacheMode(mode);
    }

    @Override
    public double calcRegularizationScore(boolean backpropOnlyParams) {
        return master.calcRegularizationScore(backpropOnlyParams);
    }

    @Override
    public Type type() {
        return master.type();
    }

    @Override
    public Collection<TrainingListener> getListeners() {
        return master.getListeners();
    }

    @Override
    public void setListeners(TrainingListener... listeners) {
        master.setListeners(listeners);
    }

    @Override
    public void setListeners(Collection<TrainingListener> listeners) {
        master.setListeners(listeners);
    }

    @Override
    public void addListeners(TrainingListener... listener) {
        master.addListeners(listener);
    }

    @Override
    public void setIndex(int index) {
        master.setIndex(index);
    }

    @Override
    public int getIndex() {
        return master.getIndex();
    }

    @Override
    public int getIterationCount() {
        return master.getIterationCount();
    }

    @Override
    public int getEpochCount() {
        return master.getEpochCount();
    }

    @Override
    public void setIterationCount(int iterationCount) {
        master.setIterationCount(iterationCount);
    }

    @Override
    public void setEpochCount(int epochCount) {
        master.setEpochCount(epochCount);
    }

    @Override
    public void setInputMiniBatchSize(int size) {
        master.setInputMiniBatchSize(size);
    }

    @Override
    public int getInputMiniBatchSize() {
        return master.getInputMiniBatchSize();
    }

    @Override
    public void setMaskArray(INDArray maskArray) {
        master.setMaskArray(maskArray);
    }

    @Override
    public INDArray getMaskArray() {
        return master.getMaskArray();
    }

    @Override
    public boolean isPretrainLayer() {
        return master.isPretrainLayer();
    }

    @Override
    public void clearNoiseWeightParams() {
        master.clearNoiseWeightParams();
    }

    @Override
    public void allowInputModification(boolean allow) {
        master.allowInputModification(allow);
    }

    @Override
    public Pair<INDArray, MaskState> feedForwardMaskArray(
            INDArray maskArray, MaskState currentMaskState, int minibatchSize) {
        return master.feedForwardMaskArray(maskArray, currentMaskState, minibatchSize);
    }

    @Override
    public LayerHelper getHelper() {
        return master.getHelper();
    }

    @Override
    public void init() {
        master.init();
    }

    @Override
    @Deprecated
    public void fit() {
        master.fit();
    }

    @Override
    public void update(Gradient gradient) {
        master.update(gradient);
    }

    @Override
    public void update(INDArray gradient, String paramType) {
        master.update(gradient, paramType);
    }

    @Override
    public double score() {
        return master.score();
    }

    @Override
    public void computeGradientAndScore(LayerWorkspaceMgr workspaceMgr) {
        informedMaster().computeGradientAndScore(workspaceMgr);
    }

    @Override
    public INDArray params() {
        return master.params();
    }

    @Override
    public long numParams() {
        return master.numParams();
    }

    @Override
    public long numParams(boolean backwards) {
        return master.numParams(backwards);
    }

    @Override
    public void setParams(INDArray params) {
        master.setParams(params);
    }

    @Override
    public void setParamsViewArray(INDArray params) {
        master.setParamsViewArray(params);
    }

    @Override
    public INDArray getGradientsViewArray() {
        return master.getGradientsViewArray();
    }

    @Override
    public void setBackpropGradientsViewArray(INDArray gradients) {
        master.setBackpropGradientsViewArray(gradients);
    }

    @Override
    public void fit(INDArray data, LayerWorkspaceMgr workspaceMgr) {
        master.fit(data, workspaceMgr);
    }

    @Override
    public Gradient gradient() {
        return master.gradient();
    }

    @Override
    public Pair<Gradient, Double> gradientAndScore() {
        return master.gradientAndScore();
    }

    @Override
    public int batchSize() {
        return master.batchSize();
    }

    @Override
    public NeuralNetConfiguration conf() {
        return master.conf();
    }

    @Override
    public void setConf(NeuralNetConfiguration conf) {
        master.setConf(conf);
    }

    @Override
    public INDArray input() {
        return master.input();
    }

    @Override
    public ConvexOptimizer getOptimizer() {
        return master.getOptimizer();
    }

    @Override
    public INDArray getParam(String param) {
        return master.getParam(param);
    }

    @Override
    public Map<String, INDArray> paramTable() {
        return master.paramTable();
    }

    @Override
    public Map<String, INDArray> paramTable(boolean backpropParamsOnly) {
        return master.paramTable(backpropParamsOnly);
    }

    @Override
    public void setParamTable(Map<String, INDArray> paramTable) {
        master.setParamTable(paramTable);
    }

    @Override
    public void setParam(String key, INDArray val) {
        master.setParam(key, val);
    }

    @Override
    public void clear() {
        master.clear();
    }

    @Override
    public void applyConstraints(int iteration, int epoch) {
        master.applyConstraints(iteration, epoch);
    }

    @Override
    public TrainingConfig getConfig() {
        return master.getConfig();
    }

    @Override
    public boolean updaterDivideByMinibatch(String paramName) {
        return master.updaterDivideByMinibatch(paramName);
    }

    @Override
    public void close() {
        master.close();
    }
}
