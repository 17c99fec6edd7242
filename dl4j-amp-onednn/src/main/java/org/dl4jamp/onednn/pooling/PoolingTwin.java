package org.dl4jamp.onednn.pooling;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Maximum or average of windows along one, two or three axes of {@code [minibatch, channels, ...]} or
 * {@code [minibatch, ..., channels]}. The gradients of overlapping averages are added up in FP32; those of overlapping
 * maxima, a handful at most, in the arrays' type.
 */
final class PoolingTwin extends WindowTwin implements Twin.Repeatable {
    private static final long serialVersionUID = 1L;

    private final transient KernelCache<Layout, PoolingKernels> kernels = new KernelCache<>(KernelCache.SHAPES);
    private transient INDArray places;

    PoolingTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, PoolingForm.of(conf.getLayer()));
    }

    private PoolingKernels kernels() {
        INDArray given = given();
        Layout layout = Layout.channelsLast(dataType, given.shape());
        return kernels.get(layout, () -> {
            check(given);
            return PoolingKernels.make(context(), layerId(), form(), layout);
        });
    }

    @Override
    public boolean isRepeatable() {
        return true;
    }

    @Override
    protected long[] outputShape() {
        return kernels().outputShape();
    }

    @Override
    protected void forward(INDArray output, boolean training, LayerWorkspaceMgr workspaceMgr) {
        PoolingKernels ours = kernels();
        INDArray x = ready(workspaceMgr, ArrayType.FF_WORKING_MEM);
        places = training && Workspaces.staysUntilBackward(workspaceMgr)
                ? ours.places(workspaceMgr, ArrayType.ACTIVATIONS)
                : null;
        ours.forward(x, output, places);
        mask(output);
    }

    @Override
    protected void backward(INDArray epsilon, INDArray next, LayerWorkspaceMgr workspaceMgr) {
        PoolingKernels ours = kernels();
        DataType sums = form().addsUpGradients() ? DataType.FLOAT : dataType;
        INDArray above = ready(masked(epsilon, workspaceMgr), sums, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray found = places == null ? findAgain(ours, workspaceMgr) : places;
        if (sums == dataType) {
            ours.backward(above, next, found);
        } else {
            INDArray unrounded = Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, sums, next.shape());
            ours.backward(above, unrounded, found);
            context().copies().copy(unrounded, next);
        }
    }

    private INDArray findAgain(PoolingKernels ours, LayerWorkspaceMgr workspaceMgr) {
        INDArray found = ours.places(workspaceMgr, ArrayType.BP_WORKING_MEM);
        if (found != null) {
            ours.forward(
                    ready(workspaceMgr, ArrayType.BP_WORKING_MEM),
                    Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, dataType, ours.outputShape()),
                    found);
        }
        return found;
    }

    @Override
    public void clear() {
        super.clear();
        places = null;
    }

    @Override
    public void close() {
        kernels.close();
    }
}
