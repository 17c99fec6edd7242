package org.dl4jamp.onednn.pooling;

import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.bytedeco.dnnl.global.dnnl;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.BinaryKernels;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Maxima of whole sequences, images and volumes, in the type of the numbers. With a mask these are FP32, and DL4J's
 * offsets are added to them first: minus infinity where the mask is zero.
 */
final class GlobalMaxima implements AutoCloseable {
    private final OneDnnContext context;
    private final ChannelAxis axis;
    private final KernelCache<Layout, PoolingKernels> kernels = new KernelCache<>(KernelCache.SHAPES);
    private final BinaryKernels sums;

    GlobalMaxima(OneDnnContext context, ChannelAxis axis) {
        this.context = context;
        this.axis = axis;
        this.sums = new BinaryKernels(context);
    }

    private PoolingKernels kernels(String layer, INDArray x) {
        Layout layout = Layout.channelsLast(x.dataType(), x.shape());
        return kernels.get(layout, () -> {
            int[] extents = LongStream.of(Workspaces.extents(x))
                    .mapToInt(Math::toIntExact)
                    .toArray();
            int[] zeros = new int[extents.length];
            int[] ones = new int[extents.length];
            Arrays.fill(ones, 1);
            Window whole = new Window(extents.length, extents, extents, zeros, ones, ConvolutionMode.Truncate);
            return PoolingKernels.make(
                    context, layer, new PoolingForm(whole, axis, dnnl.algorithm.pooling_max), layout);
        });
    }

    private INDArray shifted(
            String layer, INDArray x, PositionMask mask, ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        if (mask == null) {
            return x;
        }
        INDArray shifted = Workspaces.channelsLast(workspaceMgr, working, x.dataType(), x.shape());
        sums.run(layer, dnnl.algorithm.binary_add, x, mask.offsets(), List.of(), shifted);
        return shifted;
    }

    /**
     * Computes the maxima.
     *
     * @param x its channels as the second axis and last in memory
     * @param mask null for none
     * @param output FP32, {@code [minibatch, channels]}
     */
    void forward(String layer, INDArray x, PositionMask mask, INDArray output, LayerWorkspaceMgr workspaceMgr) {
        INDArray shifted = shifted(layer, x, mask, ArrayType.FF_WORKING_MEM, workspaceMgr);
        INDArray maximum = maxima(shifted, ArrayType.FF_WORKING_MEM, workspaceMgr);
        kernels(layer, shifted).forward(shifted, maximum, null);
        context.copies().copy(maximum, output);
        if (mask != null) {
            // oneDNN's maxima begin with the least finite number.
            mask.hiddenExamples().forEach(example -> output.getRow(example).assign(Double.NEGATIVE_INFINITY));
        }
    }

    private static INDArray maxima(INDArray x, ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        return Workspaces.dense(workspaceMgr, working, x.dataType(), x.size(0), x.size(1));
    }

    /**
     * Gives the gradient of each maximum to the first number that is it.
     *
     * @param epsilon of any type, {@code [minibatch, channels]}
     * @param next its channels as the second axis and last in memory
     */
    void backward(
            String layer,
            INDArray x,
            PositionMask mask,
            INDArray epsilon,
            INDArray next,
            LayerWorkspaceMgr workspaceMgr) {
        INDArray shifted = shifted(layer, x, mask, ArrayType.BP_WORKING_MEM, workspaceMgr);
        PoolingKernels ours = kernels(layer, shifted);
        INDArray places = ours.places(workspaceMgr, ArrayType.BP_WORKING_MEM);
        ours.forward(shifted, maxima(shifted, ArrayType.BP_WORKING_MEM, workspaceMgr), places);
        INDArray own = maxima(shifted, ArrayType.BP_WORKING_MEM, workspaceMgr);
        context.copies().copy(epsilon, own);
        boolean direct = next.dataType() == shifted.dataType();
        INDArray gradient = direct
                ? next
                : Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, x.shape());
        ours.backward(own, gradient, places);
        if (!direct) {
            context.copies().copy(gradient, next);
        }
    }

    @Override
    public void close() {
        kernels.close();
        sums.close();
    }
}
