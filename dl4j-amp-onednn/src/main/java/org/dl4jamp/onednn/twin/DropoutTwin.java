package org.dl4jamp.onednn.twin;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A dropout layer without the dropout, which the wrapper applies. It returns its input, in the same order in memory.
 */
final class DropoutTwin extends AbstractLayer<DropoutLayer> implements OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;

    DropoutTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        INDArray x = context.copies().inEitherOrder(input, dataType, workspaceMgr, ArrayType.FF_WORKING_MEM);
        return masked(copy(x, ArrayType.ACTIVATIONS, workspaceMgr));
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray above = context.copies().inEitherOrder(epsilon, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
        return new Pair<>(new DefaultGradient(), masked(copy(above, ArrayType.ACTIVATION_GRAD, workspaceMgr)));
    }

    private INDArray copy(INDArray from, ArrayType place, LayerWorkspaceMgr workspaceMgr) {
        INDArray to = Workspaces.like(from, workspaceMgr, place);
        context.copies().copy(from, to);
        return to;
    }

    private INDArray masked(INDArray array) {
        if (maskArray != null) {
            applyMask(array);
        }
        return array;
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
