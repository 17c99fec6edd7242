package org.dl4jamp.onednn.twin;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.ActivationLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.activation.ActivationFunction;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An activation function of an array of any rank, computed in FP32 and rounded once. Functions that oneDNN hasn't are
 * computed by their own class.
 */
final class ActivationTwin extends ActivationLayer implements FusedRelu.Partner, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient ActivationFunction function;

    private transient FusedRelu fused;
    private transient boolean outputStays;

    ActivationTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.function = new ActivationFunction(context, layerConf().getActivationFn());
    }

    @Override
    public void fuse(FusedRelu with) {
        fused = with;
    }

    @Override
    public void outputStays() {
        outputStays = true;
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        if (fused != null && fused.takes(input)) {
            return handedOn(workspaceMgr);
        }
        if (function.whole() != null) {
            return copy(function.whole().values(input, training, workspaceMgr), workspaceMgr, ArrayType.ACTIVATIONS);
        }
        if (function.eltwise() == null) {
            INDArray values = unrounded(workspaceMgr, ArrayType.FF_WORKING_MEM);
            INDArray output = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATIONS, dataType, values.shape());
            function.forward(layerId(), values, training, output);
            return output;
        }
        INDArray x = context.copies().inEitherOrder(input, dataType, workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray output = Workspaces.like(x, workspaceMgr, ArrayType.ACTIVATIONS);
        function.forwardFrom(layerId(), x, output);
        return output;
    }

    /**
     * Returns the input, or a copy of it if other code may write into the output: the backward pass reads the input.
     */
    private INDArray handedOn(LayerWorkspaceMgr workspaceMgr) {
        if (outputStays || dataType == DataType.BFLOAT16) {
            return workspaceMgr.leverageTo(ArrayType.ACTIVATIONS, input);
        }
        INDArray copy = Workspaces.like(input, workspaceMgr, ArrayType.ACTIVATIONS);
        context.copies().copy(input, copy);
        return copy;
    }

    /** Returns a copy of what a function of whole arrays returned, in the order of the input. */
    private INDArray copy(INDArray result, LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        boolean dense = Layout.dense(input.dataType(), input.shape()).isThatOf(input);
        INDArray copy = dense
                ? Workspaces.dense(workspaceMgr, place, dataType, result.shape())
                : Workspaces.channelsLast(workspaceMgr, place, dataType, result.shape());
        context.copies().copyOrAssign(result, copy);
        return copy;
    }

    /** Returns a copy of the input that ND4J's functions may overwrite. */
    private INDArray unrounded(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        INDArray copy = Workspaces.channelsLast(workspaceMgr, working, DataType.FLOAT, input.shape());
        context.copies().copyOrAssign(input, copy);
        return copy;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        if (function.whole() != null) {
            INDArray gradient = function.whole().gradient(input, epsilon, workspaceMgr);
            return new Pair<>(new DefaultGradient(), copy(gradient, workspaceMgr, ArrayType.ACTIVATION_GRAD));
        }
        Rejection.ofEpsilon(layerId(), epsilon, input.shape());
        if (fused != null && fused.takesDerivative() && context.lentGradients().contain(epsilon)) {
            return new Pair<>(new DefaultGradient(), epsilon);
        }
        if (function.eltwise() == null) {
            INDArray values = unrounded(workspaceMgr, ArrayType.BP_WORKING_MEM);
            INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, values.shape());
            function.backward(layerId(), values, epsilon, next, workspaceMgr);
            return new Pair<>(new DefaultGradient(), next);
        }
        INDArray x = context.copies().inEitherOrder(input, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray delta = context.copies().inOrderOf(x, epsilon, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray next = Workspaces.like(x, workspaceMgr, ArrayType.ACTIVATION_GRAD);
        function.backwardFrom(layerId(), x, delta, next);
        context.lentGradients().giveBack(epsilon);
        return new Pair<>(new DefaultGradient(), next);
    }

    @Override
    public void close() {
        function.close();
    }
}
