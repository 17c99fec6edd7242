package org.dl4jamp.onednn;

import org.bytedeco.dnnl.global.dnnl;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.convolution.subsampling.SubsamplingLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Maximum or average pooling of {@code [minibatch, channels, height, width]}. In BFLOAT16 the gradients of overlapping maxima are added up in
 * it, a handful at most.
 */
final class PoolingTwin extends SubsamplingLayer implements AutoCloseable {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient KernelCache<Layout, PoolingKernels> kernels = new KernelCache<>(Twins.SHAPES);

    PoolingTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.helper = null;
        this.context = context;
    }

    private dnnl.algorithm algorithm() {
        if (layerConf().getPoolingType() == PoolingType.MAX) {
            return dnnl.algorithm.pooling_max;
        }
        return layerConf().isAvgPoolIncludePadInDivisor()
                ? dnnl.algorithm.pooling_avg_include_padding
                : dnnl.algorithm.pooling_avg_exclude_padding;
    }

    private PoolingKernels kernels() {
        return kernels.get(Layout.channelsLast(dataType, input.shape()), () -> {
            WindowGeometry geometry = WindowGeometry.of(
                    input,
                    layerConf().getKernelSize(),
                    layerConf().getStride(),
                    layerConf().getPadding(),
                    layerConf().getDilation(),
                    convolutionMode);
            return PoolingKernels.make(context, layerId(), algorithm(), geometry, dataType, input.shape());
        });
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        if (input.rank() != 4) {
            // DL4J's layer says what it thinks of the shape.
            return super.activate(training, workspaceMgr);
        }
        INDArray x = context.channelsLast(input, dataType, workspaceMgr, ArrayType.FF_WORKING_MEM);
        PoolingKernels ours = kernels();
        INDArray output = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATIONS, dataType, ours.outputShape());
        ours.forward(x, output);
        return output;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        PoolingKernels ours = kernels();
        INDArray above = context.channelsLast(epsilon, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
        if (ours.remembersPlaces()) {
            // Another forward pass, such as one that evaluates, may have come in between.
            INDArray x = context.channelsLast(input, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
            ours.forward(
                    x, Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, dataType, ours.outputShape()));
        }
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, input.shape());
        ours.backward(above, next);
        return new Pair<>(new DefaultGradient(), next);
    }

    @Override
    public void close() {
        kernels.close();
    }
}
