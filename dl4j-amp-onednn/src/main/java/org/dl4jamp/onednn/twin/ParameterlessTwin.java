package org.dl4jamp.onednn.twin;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A twin of a layer without parameters.
 *
 * @param <L> the layer's configuration
 */
public abstract class ParameterlessTwin<L extends Layer> extends AbstractLayer<L> implements AutoCloseable {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient ChannelAxis channels;

    protected ParameterlessTwin(
            NeuralNetConfiguration conf, DataType type, OneDnnContext context, ChannelAxis channels) {
        super(conf, type);
        this.context = context;
        this.channels = channels;
    }

    protected final OneDnnContext context() {
        return context;
    }

    /** Returns the input with its channels as the second axis, as it is. */
    protected final INDArray given() {
        return channels.toSecond(input);
    }

    /** Returns an array of this layer, input or epsilon, with its channels as second axis and last in memory. */
    protected final INDArray ready(INDArray array, DataType type, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return context.copies().channelsLast(channels.toSecond(array), type, workspaceMgr, working);
    }

    /** Returns an array with the channels as second axis in the layer's order of axes. */
    protected final INDArray handedOn(INDArray array) {
        return channels.fromSecond(array);
    }

    /** Runs DL4J's layer on an input that this twin can't take, for DL4J's message. */
    protected final void reject() {
        Rejection.of(conf, null, getIndex(), input);
    }

    /** Runs DL4J's layer on an unusual input, for DL4J's message if the input is wrong. */
    protected final void rejectUnlessDl4jTakes() {
        Rejection.unlessDl4jTakes(conf, null, getIndex(), input);
    }

    @Override
    public boolean isPretrainLayer() {
        return false;
    }

    @Override
    public void clearNoiseWeightParams() {
        // There are no parameters.
    }
}
