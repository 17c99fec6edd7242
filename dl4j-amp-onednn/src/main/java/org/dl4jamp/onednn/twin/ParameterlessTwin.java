package org.dl4jamp.onednn.twin;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.ResultPlace;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A twin of a layer without parameters.
 *
 * @param <L> the layer's configuration
 */
public abstract class ParameterlessTwin<L extends Layer> extends AbstractLayer<L> implements OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient ChannelAxis channels;
    private transient ResultPlace place;

    protected ParameterlessTwin(
            NeuralNetConfiguration conf, DataType type, OneDnnContext context, ChannelAxis channels) {
        super(conf, type);
        this.context = context;
        this.channels = channels;
    }

    @Override
    public final void placeOutput(ResultPlace output) {
        place = output;
    }

    protected final OneDnnContext context() {
        return context;
    }

    /** Returns the input with its channels as the second axis, as it is. */
    protected final INDArray given() {
        return channels.toSecond(input);
    }

    /** Returns the input with its channels as the second axis and last in memory. */
    protected final INDArray ready(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return ready(given(), dataType, workspaceMgr, working);
    }

    /** Returns an array, given with its channels as the second axis, with its channels last in memory. */
    protected final INDArray ready(INDArray array, DataType type, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return context.copies().channelsLast(array, type, workspaceMgr, working);
    }

    /** Returns the shape of the output, its channels as the second axis, and rejects a wrong input. */
    protected abstract long[] outputShape();

    /**
     * Computes the output.
     *
     * @param output its channels as the second axis and last in memory
     */
    protected abstract void forward(INDArray output, boolean training, LayerWorkspaceMgr workspaceMgr);

    /**
     * Computes the gradient of the input.
     *
     * @param epsilon that of the output, of any type and order, its channels as the second axis
     * @param next its channels as the second axis and last in memory
     */
    protected abstract void backward(INDArray epsilon, INDArray next, LayerWorkspaceMgr workspaceMgr);

    /** Returns the place of the gradient of the input. */
    protected INDArray inputGradient(LayerWorkspaceMgr workspaceMgr, long... shape) {
        return Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, shape);
    }

    @Override
    public final INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        long[] shape = outputShape();
        INDArray output = place == null
                ? Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATIONS, dataType, shape)
                : place.channelsLast(dataType, workspaceMgr, shape);
        forward(output, training, workspaceMgr);
        return channels.fromSecond(output);
    }

    @Override
    public final Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        INDArray above = channels.toSecond(epsilon);
        Rejection.ofEpsilon(layerId(), above, outputShape());
        INDArray next = inputGradient(workspaceMgr, given().shape());
        backward(above, next, workspaceMgr);
        return new Pair<>(new DefaultGradient(), channels.fromSecond(next));
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
