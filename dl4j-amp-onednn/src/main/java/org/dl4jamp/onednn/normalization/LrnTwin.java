package org.dl4jamp.onednn.normalization;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.ParameterlessTwin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Local response normalization of images across their channels, computed in FP32 whatever the type of the arrays. */
public final class LrnTwin extends ParameterlessTwin<LocalResponseNormalization> {
    private static final long serialVersionUID = 1L;

    private final transient KernelCache<Layout, LrnKernels> kernels = new KernelCache<>(KernelCache.SHAPES);

    LrnTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, ChannelAxis.of(((LocalResponseNormalization) conf.getLayer()).getDataFormat()));
    }

    /** DL4J counts as many neighbours on either side as n halved and rounded down. */
    private LrnKernels.Formula formula() {
        LocalResponseNormalization layer = layerConf();
        long neighbours = 2 * ((long) layer.getN() / 2) + 1;
        return new LrnKernels.Formula(
                neighbours, (float) layer.getAlpha(), (float) layer.getBeta(), (float) layer.getK());
    }

    private LrnKernels kernels() {
        INDArray given = given();
        if (given.rank() != 4) {
            reject();
        }
        Layout layout = Layout.channelsLast(dataType, given.shape());
        return kernels.get(layout, () -> LrnKernels.make(context(), layerId(), formula(), layout));
    }

    @Override
    protected long[] outputShape() {
        return given().shape();
    }

    @Override
    protected void forward(INDArray output, boolean training, LayerWorkspaceMgr workspaceMgr) {
        kernels().forward(ready(workspaceMgr, ArrayType.FF_WORKING_MEM), output);
    }

    @Override
    protected void backward(INDArray epsilon, INDArray next, LayerWorkspaceMgr workspaceMgr) {
        LrnKernels ours = kernels();
        INDArray x = ready(workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray above = ready(epsilon, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
        // Other kernels have used the memory in between that it leaves its sums in.
        ours.forward(x, Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, dataType, x.shape()));
        ours.backward(x, above, next);
    }

    @Override
    public void close() {
        kernels.close();
    }
}
