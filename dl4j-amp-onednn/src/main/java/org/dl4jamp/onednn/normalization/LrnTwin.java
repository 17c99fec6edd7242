package org.dl4jamp.onednn.normalization;

import java.util.Set;
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

    /** The numbers of channels that oneDNN sums up, and gives right gradients for. */
    private static final Set<Long> OF_ONEDNN = Set.of(3L, 5L);

    private final transient KernelCache<Layout, LrnKernels> kernels = new KernelCache<>(KernelCache.SHAPES);
    private final transient LrnKernels.Formula formula;
    private final transient WideLrn wide;

    LrnTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, ChannelAxis.of(((LocalResponseNormalization) conf.getLayer()).getDataFormat()));
        LocalResponseNormalization layer = layerConf();
        formula = new LrnKernels.Formula(
                2L * reach() + 1, (float) layer.getAlpha(), (float) layer.getBeta(), (float) layer.getK());
        wide = new WideLrn(formula);
    }

    /** Returns the neighbours on either side: DL4J halves n and rounds it down. */
    private int reach() {
        return Math.max(0, (int) layerConf().getN() / 2);
    }

    private boolean isOneDnns() {
        return OF_ONEDNN.contains(formula.neighbours());
    }

    private LrnKernels kernels() {
        Layout layout = Layout.channelsLast(dataType, given().shape());
        return kernels.get(layout, () -> LrnKernels.make(context(), layerId(), formula, layout));
    }

    /** DL4J's layer throws where neighbours would be as far away as there are channels. */
    @Override
    protected long[] outputShape() {
        INDArray given = given();
        if (given.rank() != 4) {
            reject();
        }
        if (reach() >= given.size(1)) {
            rejectUnlessDl4jTakes();
        }
        return given.shape();
    }

    @Override
    protected void forward(INDArray output, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray x = ready(workspaceMgr, ArrayType.FF_WORKING_MEM);
        if (isOneDnns()) {
            kernels().forward(x, output);
        } else {
            wide.forward(x, output);
        }
    }

    @Override
    protected void backward(INDArray epsilon, INDArray next, LayerWorkspaceMgr workspaceMgr) {
        INDArray x = ready(workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray above = ready(epsilon, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
        if (!isOneDnns()) {
            wide.backward(x, above, next);
            return;
        }
        LrnKernels ours = kernels();
        // Other kernels have used the memory in between that it leaves its sums in.
        ours.forward(x, Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, dataType, x.shape()));
        ours.backward(x, above, next);
    }

    @Override
    public void close() {
        kernels.close();
    }
}
