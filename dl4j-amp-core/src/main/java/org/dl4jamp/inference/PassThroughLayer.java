package org.dl4jamp.inference;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.ComputeEngine;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A layer that returns its input: the head of its group has done its work. */
public final class PassThroughLayer extends AbstractLayer<org.deeplearning4j.nn.conf.layers.Layer> {
    private static final long serialVersionUID = 1L;

    private final transient ComputeEngine.EngineSession session;

    /** @param master the network's own layer, whose parameters others compute with */
    public PassThroughLayer(Layer master, ComputeEngine.EngineSession session) {
        super(configuration(master), DataType.FLOAT);
        this.session = session;
        setIndex(master.getIndex());
    }

    private static NeuralNetConfiguration configuration(Layer master) {
        NeuralNetConfiguration conf = master.conf().clone();
        conf.setCacheMode(CacheMode.NONE);
        conf.getLayer().setIDropout(null);
        return conf;
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        return session.handOn(input, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        throw new UnsupportedOperationException("Not supported");
    }

    @Override
    public boolean isPretrainLayer() {
        return false;
    }

    @Override
    public void clearNoiseWeightParams() {
        // It has no weights.
    }
}
