package org.dl4jamp.onednn.twin;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.BaseLayer;
import org.deeplearning4j.nn.params.PReLUParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.activation.PreluKernels;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A layer of ReLU with slopes below zero that are parameters, of an array of rank 2 to 5. Slopes are FP32. */
final class PreluTwin extends BaseLayer<PReLULayer> implements OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private static final String SLOPES = PReLUParamInitializer.WEIGHT_KEY;

    private final transient OneDnnContext context;
    private final transient KernelCache<Layout, PreluKernels> kernels = new KernelCache<>(KernelCache.SHAPES);

    PreluTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
    }

    private PreluKernels kernels(INDArray x) {
        long[] slopes = getParam(SLOPES).shape();
        return kernels.get(Layout.of(x), () -> {
            if (!fit(slopes, x)) {
                Rejection.of(conf, paramsFlattened, index, input);
            }
            return PreluKernels.make(context, layerId(), Layout.of(x), slopes);
        });
    }

    private static boolean fit(long[] slopes, INDArray x) {
        if (x.rank() != slopes.length + 1) {
            return false;
        }
        for (int axis = 0; axis < slopes.length; axis++) {
            if (slopes[axis] != 1 && slopes[axis] != x.size(axis + 1)) {
                return false;
            }
        }
        return true;
    }

    private INDArray floats(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return Workspaces.dense(
                workspaceMgr, working, DataType.FLOAT, getParam(SLOPES).length());
    }

    private INDArray slopes(PreluKernels ours, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        INDArray copy = floats(workspaceMgr, working);
        ours.arrange(getParam(SLOPES), copy);
        return copy;
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        INDArray x = context.copies().inEitherOrder(input, dataType, workspaceMgr, ArrayType.FF_WORKING_MEM);
        PreluKernels ours = kernels(x);
        INDArray output = Workspaces.like(x, workspaceMgr, ArrayType.ACTIVATIONS);
        ours.forward(x, slopes(ours, workspaceMgr, ArrayType.FF_WORKING_MEM), output);
        return output;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        Rejection.ofEpsilon(layerId(), epsilon, input.shape());
        INDArray x = context.copies().inEitherOrder(input, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
        PreluKernels ours = kernels(x);
        INDArray above = context.copies().inOrderOf(x, epsilon, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray next = Workspaces.like(x, workspaceMgr, ArrayType.ACTIVATION_GRAD);
        INDArray view = gradientViews.get(SLOPES);
        ours.backward(
                x,
                slopes(ours, workspaceMgr, ArrayType.BP_WORKING_MEM),
                above,
                next,
                floats(workspaceMgr, ArrayType.BP_WORKING_MEM),
                view);
        context.lentGradients().giveBack(epsilon);
        Gradient gradient = new DefaultGradient();
        gradient.setGradientFor(SLOPES, view, 'c');
        return new Pair<>(gradient, next);
    }

    @Override
    public boolean isPretrainLayer() {
        return false;
    }

    @Override
    public void close() {
        kernels.close();
    }
}
