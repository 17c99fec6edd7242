package org.dl4jamp.onednn.pooling;

import java.util.Arrays;
import java.util.List;
import org.bytedeco.dnnl.global.dnnl;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.pooling.GlobalPoolingLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.BinaryKernels;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.onednn.twin.RepetitionKernels;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Maximum, average, sum or p-norm of whole sequences, images and volumes {@code [minibatch, channels, ...]} or
 * {@code [minibatch, ..., channels]}. It takes its input as it is, sums up in FP32, and returns FP32:
 * {@code [minibatch, channels]}.
 */
final class GlobalPoolingTwin extends GlobalPoolingLayer implements OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final DataType inputType;
    private final transient ChannelAxis axis;
    private final transient KernelCache<Layout, RepetitionKernels> sums = new KernelCache<>(KernelCache.SHAPES);
    private final transient GlobalMaxima maxima;
    private final transient KernelCache<Layout, PowerKernels> powers = new KernelCache<>(KernelCache.SHAPES);
    private final transient BinaryKernels products;

    GlobalPoolingTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, DataType.FLOAT);
        this.context = context;
        this.inputType = type;
        this.axis = axis(layerConf());
        this.maxima = new GlobalMaxima(context, axis);
        this.products = new BinaryKernels(context);
    }

    /** In DL4J the reduced axes define where the channels are. */
    static ChannelAxis axis(org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer layer) {
        int[] reduced = layer.getPoolingDimensions();
        return reduced == null || reduced.length == 0 || reduced[0] != 1 ? ChannelAxis.SECOND : ChannelAxis.LAST;
    }

    private boolean isMaximum() {
        return layerConf().getPoolingType() == PoolingType.MAX;
    }

    private boolean isNorm() {
        return layerConf().getPoolingType() == PoolingType.PNORM;
    }

    /** Masks in {@code NWC}, axes other than all but the channels, and what DL4J rejects are left to DL4J's code. */
    private boolean leavesToDl4j() {
        boolean oddRank = input.rank() < 3 || input.rank() > 5;
        boolean oddShape = axis == ChannelAxis.LAST && !layerConf().isCollapseDimensions();
        return oddRank || oddShape || !reducesAllButChannels() || !coversMask();
    }

    private boolean coversMask() {
        return maskArray == null
                || (axis == ChannelAxis.SECOND
                        && PositionMask.of(maskArray, input).isPresent());
    }

    private PositionMask mask() {
        return maskArray == null ? null : PositionMask.of(maskArray, input).orElseThrow();
    }

    private boolean reducesAllButChannels() {
        int[] reduced = layerConf().getPoolingDimensions();
        if (reduced == null) {
            return true;
        }
        int first = axis == ChannelAxis.SECOND ? 2 : 1;
        int[] expected = new int[input.rank() - 2];
        Arrays.setAll(expected, i -> first + i);
        return Arrays.equals(reduced, expected);
    }

    private INDArray ready(ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        return context.copies().channelsLast(axis.toSecond(input), inputType, workspaceMgr, working);
    }

    private RepetitionKernels sums(INDArray x) {
        Layout fine = Layout.channelsLast(x.dataType(), x.shape());
        return sums.get(fine, () -> {
            Layout coarse = Layout.channelsLast(DataType.FLOAT, reducedShape(x));
            return RepetitionKernels.make(context, layerId(), coarse, fine);
        });
    }

    private PowerKernels powers(INDArray x) {
        Layout layout = Layout.channelsLast(DataType.FLOAT, x.shape());
        return powers.get(
                layout,
                () -> PowerKernels.make(
                        context, layerId(), layerConf().getPnorm(), 1, x.length(), x.size(0) * x.size(1)));
    }

    /** Returns the input, FP32 if it's to be masked or if its powers are added up. */
    private INDArray ready(PositionMask mask, ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        return mask == null && !isNorm()
                ? ready(working, workspaceMgr)
                : context.copies().channelsLast(axis.toSecond(input), DataType.FLOAT, workspaceMgr, working);
    }

    private static INDArray floats(INDArray like, ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        return Workspaces.channelsLast(workspaceMgr, working, DataType.FLOAT, like.shape());
    }

    private void mask(INDArray array, PositionMask mask, INDArray result) {
        products.run(layerId(), dnnl.algorithm.binary_mul, array, mask.positions(), List.of(), result);
    }

    /** Adds up numbers or their powers. */
    private void sum(INDArray x, PositionMask mask, INDArray sum, ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        INDArray summands = x;
        if (mask != null) {
            summands = floats(x, working, workspaceMgr);
            mask(x, mask, summands);
        }
        if (isNorm()) {
            INDArray result = floats(x, working, workspaceMgr);
            powers(x).powers(summands, result);
            summands = result;
        }
        sums(summands).sum(summands, sum);
    }

    private static long[] reducedShape(INDArray x) {
        long[] ones = new long[x.rank() - 2];
        Arrays.fill(ones, 1);
        return Workspaces.shape(x.size(0), x.size(1), ones);
    }

    private static long averaged(INDArray x) {
        return x.length() / (x.size(0) * x.size(1));
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        if (leavesToDl4j()) {
            INDArray given = input;
            input = unrounded(given, ArrayType.FF_WORKING_MEM, workspaceMgr);
            INDArray output = super.activate(training, workspaceMgr);
            input = given;
            return output;
        }
        PositionMask mask = mask();
        INDArray x = ready(mask, ArrayType.FF_WORKING_MEM, workspaceMgr);
        INDArray output = Workspaces.dense(workspaceMgr, ArrayType.ACTIVATIONS, DataType.FLOAT, x.size(0), x.size(1));
        if (isMaximum()) {
            maxima.forward(layerId(), x, mask, output, workspaceMgr);
        } else {
            sum(x, mask, output, ArrayType.FF_WORKING_MEM, workspaceMgr);
            if (isNorm()) {
                powers(x).roots(output, output);
            }
            average(output, x, mask);
        }
        return layerConf().isCollapseDimensions() ? output : output.reshape('c', reducedShape(x));
    }

    private void average(INDArray sum, INDArray x, PositionMask mask) {
        if (layerConf().getPoolingType() != PoolingType.AVG) {
            return;
        }
        if (mask == null) {
            sum.divi(averaged(x));
        } else {
            sum.diviColumnVector(mask.counts());
        }
    }

    private INDArray unrounded(INDArray array, ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        if (array.dataType() == DataType.FLOAT) {
            return array;
        }
        INDArray copy = Workspaces.dense(workspaceMgr, working, DataType.FLOAT, array.shape());
        context.copies().copy(array, copy);
        return copy;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        if (leavesToDl4j()) {
            return backwardOfDl4j(epsilon, workspaceMgr);
        }
        PositionMask mask = mask();
        INDArray x = ready(mask, ArrayType.BP_WORKING_MEM, workspaceMgr);
        // Axes that were kept, or a preprocessor behind this layer, give it a length of 1 between the two or behind
        // them.
        boolean oneEach = epsilon.rank() > 2 && epsilon.length() == x.size(0) * x.size(1);
        INDArray above = oneEach ? epsilon.reshape('c', x.size(0), x.size(1)) : epsilon;
        Rejection.ofEpsilon(layerId(), above, x.size(0), x.size(1));
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, inputType, x.shape());
        if (isMaximum()) {
            maxima.backward(layerId(), x, mask, above, next, workspaceMgr);
        } else {
            INDArray own = Workspaces.dense(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, above.shape());
            context.copies().copy(above, own);
            average(own, x, mask);
            spread(x, mask, own, next, workspaceMgr);
        }
        return new Pair<>(new DefaultGradient(), axis.fromSecond(next));
    }

    /** Computes the gradient of the input from that of the sums or norms, which is lost. */
    private void spread(INDArray x, PositionMask mask, INDArray own, INDArray next, LayerWorkspaceMgr workspaceMgr) {
        if (mask == null && !isNorm()) {
            sums(x).repeat(own, next);
            return;
        }
        if (isNorm()) {
            INDArray sum = Workspaces.dense(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, own.shape());
            sum(x, mask, sum, ArrayType.BP_WORKING_MEM, workspaceMgr);
            powers(x).factors(sum, own, own);
        }
        INDArray gradient = inputType == DataType.FLOAT ? next : floats(x, ArrayType.BP_WORKING_MEM, workspaceMgr);
        sums(gradient).repeat(own, gradient);
        if (isNorm()) {
            powers(x).gradient(x, gradient, gradient);
        }
        if (mask != null) {
            mask(gradient, mask, gradient);
        }
        if (inputType != DataType.FLOAT) {
            context.copies().copy(gradient, next);
        }
    }

    private Pair<Gradient, INDArray> backwardOfDl4j(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray given = input;
        input = unrounded(given, ArrayType.BP_WORKING_MEM, workspaceMgr);
        Pair<Gradient, INDArray> result = super.backpropGradient(epsilon, workspaceMgr);
        input = given;
        if (inputType == DataType.FLOAT) {
            return result;
        }
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, inputType, given.shape());
        next.assign(result.getSecond());
        return new Pair<>(result.getFirst(), next);
    }

    @Override
    public void close() {
        sums.close();
        maxima.close();
        powers.close();
        products.close();
    }
}
