package org.dl4jamp.onednn.vertex;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.activation.EltwiseKernels;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/** One array, multiplied by a number and with another added. */
final class LinearTwin extends VertexTwin {
    private static final long serialVersionUID = 1L;

    private final double factor;
    private final transient Eltwise function;
    private final transient KernelCache<Layout, EltwiseKernels> kernels = new KernelCache<>(KernelCache.SHAPES);

    LinearTwin(VertexRequest request, double factor, double summand, OneDnnContext context) {
        super(request, context);
        this.factor = factor;
        this.function = Eltwise.linear(factor, summand);
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        return inputs.length == 1;
    }

    private EltwiseKernels kernels(INDArray array) {
        Layout layout = layout(array.shape());
        return kernels.get(
                layout, () -> EltwiseKernels.make(context(), request().name(), function, layout));
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray x = channelsLast(inputs[0], workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray output = create(workspaceMgr, ArrayType.ACTIVATIONS, x.shape());
        kernels(x).forward(x, output);
        return output;
    }

    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray above = channelsLast(epsilon, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray gradient = create(workspaceMgr, ArrayType.ACTIVATION_GRAD, above.shape());
        if (factor == 1) {
            context().copies().copy(above, gradient);
        } else {
            // The function's derivative doesn't depend on its input.
            kernels(above).backward(above, above, gradient);
        }
        return new INDArray[] {gradient};
    }

    @Override
    public void close() {
        kernels.close();
    }
}
