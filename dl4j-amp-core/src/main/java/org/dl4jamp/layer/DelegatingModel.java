package org.dl4jamp.layer;

import java.io.Serializable;
import java.util.Collection;
import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.api.TrainingConfig;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.twin.Substitute;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Delegates the methods of a {@link Model} to the network's own layer, the master: configuration, parameters, gradients
 * and score.
 */
abstract class DelegatingModel implements Model, Trainable, Substitute<Layer>, Serializable {
    private static final long serialVersionUID = 1L;

    private final transient Layer master;

    DelegatingModel(Layer master) {
        this.master = master;
    }

    /** Returns the network's own layer, whose parameters are the master weights. */
    @Override
    public final Layer master() {
        return master;
    }

    /** Is called after parameters of the master have been set by one of its methods. */
    void parametersSet() {}

    @Override
    public void init() {
        master.init();
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
    @Deprecated
    public void fit() {
        master.fit();
    }

    @Override
    public void update(Gradient gradient) {
        master.update(gradient);
        parametersSet();
    }

    @Override
    public void update(INDArray gradient, String paramType) {
        master.update(gradient, paramType);
        parametersSet();
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
        parametersSet();
    }

    @Override
    public void setParamsViewArray(INDArray params) {
        master.setParamsViewArray(params);
        parametersSet();
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
        parametersSet();
    }

    @Override
    public void setParam(String key, INDArray val) {
        master.setParam(key, val);
        parametersSet();
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
