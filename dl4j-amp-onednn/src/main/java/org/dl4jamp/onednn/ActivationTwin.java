package org.dl4jamp.onednn;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.ActivationLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** An element-wise activation function of an array of any rank, computed in FP32 and rounded once. */
final class ActivationTwin extends ActivationLayer implements FusedRelu.Partner, AutoCloseable {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient Eltwise eltwise;
    private final transient KernelCache<Layout, EltwiseKernels> kernels = new KernelCache<>(Twins.SHAPES);

    private transient FusedRelu fused;

    ActivationTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.eltwise = Eltwise.of(layerConf().getActivationFn()).orElseThrow();
    }

    @Override
    public void fuse(FusedRelu with) {
        fused = with;
    }

    private EltwiseKernels kernels(INDArray array) {
        Layout layout = Layout.of(array);
        return kernels.get(layout, () -> EltwiseKernels.make(context, layerId(), eltwise, layout));
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        if (fused != null && fused.takes(input)) {
            return workspaceMgr.leverageTo(ArrayType.ACTIVATIONS, input);
        }
        INDArray x = context.inEitherOrder(input, dataType, workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray output = Workspaces.like(x, workspaceMgr, ArrayType.ACTIVATIONS);
        kernels(x).forward(x, output);
        return output;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        Rejection.ofEpsilon(layerId(), epsilon, input.shape());
        if (fused != null && fused.takesDerivative() && context.lentGradients().contain(epsilon)) {
            return new Pair<>(new DefaultGradient(), epsilon);
        }
        INDArray x = context.inEitherOrder(input, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray delta = context.inOrderOf(x, epsilon, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray next = Workspaces.like(x, workspaceMgr, ArrayType.ACTIVATION_GRAD);
        kernels(x).backward(x, delta, next);
        context.lentGradients().giveBack(epsilon);
        return new Pair<>(new DefaultGradient(), next);
    }

    @Override
    public void close() {
        kernels.close();
    }
}
