package org.dl4jamp.onednn.pooling;

import org.bytedeco.dnnl.global.dnnl;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The p-norm of each window of sequences or images, in FP32, rounded once. Averages of powers, padding included, are
 * sums up to a factor. A window of zeros has no gradient; DL4J's is NaN.
 */
final class PNormTwin extends WindowTwin {
    private static final long serialVersionUID = 1L;

    private final transient KernelCache<Layout, Kernels> kernels = new KernelCache<>(KernelCache.SHAPES);

    private record Kernels(PoolingKernels averages, PowerKernels powers) implements AutoCloseable {
        @Override
        public void close() {
            averages.close();
            powers.close();
        }
    }

    PNormTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, PoolingForm.of(conf.getLayer()));
    }

    private Kernels kernels() {
        INDArray given = given();
        Layout layout = Layout.channelsLast(DataType.FLOAT, given.shape());
        return kernels.get(layout, () -> {
            check(given);
            WindowGeometry geometry = form().window().over(layout.extents());
            PoolingKernels averages = PoolingKernels.make(
                    context(), layerId(), dnnl.algorithm.pooling_avg_include_padding, geometry, true, layout);
            long covered = 1;
            for (long size : geometry.kernel()) {
                covered *= size;
            }
            long norms = Layout.dense(DataType.FLOAT, averages.outputShape()).length();
            int p = ((SubsamplingLayer) layerConf()).getPnorm();
            PowerKernels powers = PowerKernels.make(context(), layerId(), p, covered, layout.length(), norms);
            return new Kernels(averages, powers);
        });
    }

    @Override
    protected long[] outputShape() {
        return kernels().averages().outputShape();
    }

    private static INDArray floats(ArrayType working, LayerWorkspaceMgr workspaceMgr, long... shape) {
        return Workspaces.channelsLast(workspaceMgr, working, DataType.FLOAT, shape);
    }

    private INDArray averages(Kernels ours, INDArray x, ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        INDArray powers = floats(working, workspaceMgr, x.shape());
        ours.powers().powers(x, powers);
        INDArray averages = floats(working, workspaceMgr, outputShape());
        ours.averages().forward(powers, averages, null);
        return averages;
    }

    @Override
    protected void forward(INDArray output, boolean training, LayerWorkspaceMgr workspaceMgr) {
        Kernels ours = kernels();
        INDArray x = ready(given(), DataType.FLOAT, workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray averages = averages(ours, x, ArrayType.FF_WORKING_MEM, workspaceMgr);
        ours.powers().roots(averages, averages);
        context().copies().copy(averages, output);
        mask(output);
    }

    @Override
    protected void backward(INDArray epsilon, INDArray next, LayerWorkspaceMgr workspaceMgr) {
        Kernels ours = kernels();
        INDArray x = ready(given(), DataType.FLOAT, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray above = ready(masked(epsilon, workspaceMgr), DataType.FLOAT, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray averages = averages(ours, x, ArrayType.BP_WORKING_MEM, workspaceMgr);
        ours.powers().factors(averages, above, averages);
        INDArray gradient =
                dataType == DataType.FLOAT ? next : floats(ArrayType.BP_WORKING_MEM, workspaceMgr, x.shape());
        ours.averages().backward(averages, gradient, null);
        ours.powers().gradient(x, gradient, gradient);
        if (dataType != DataType.FLOAT) {
            context().copies().copy(gradient, next);
        }
    }

    @Override
    public void close() {
        kernels.close();
    }
}
