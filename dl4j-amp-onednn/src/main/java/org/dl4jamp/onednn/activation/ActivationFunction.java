package org.dl4jamp.onednn.activation;

import java.util.function.Function;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.host.Magnitudes;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The activation function of a layer: oneDNN's where it has the function, else that of its own class in FP32, rounded
 * once.
 */
public final class ActivationFunction implements AutoCloseable {
    private final OneDnnContext context;
    private final IActivation activation;
    private final Eltwise eltwise;
    private final WholeArrayFunction whole;
    private final KernelCache<Layout, EltwiseKernels> kernels = new KernelCache<>(KernelCache.SHAPES);

    public ActivationFunction(OneDnnContext context, IActivation activation) {
        this.context = context;
        this.activation = activation;
        this.eltwise = Eltwise.of(activation).orElse(null);
        this.whole = WholeArrayFunction.isOne(activation) ? new WholeArrayFunction(context, activation) : null;
    }

    /** Returns oneDNN's counterpart; null if there is none. */
    public Eltwise eltwise() {
        return eltwise;
    }

    /** Returns the function of whole arrays; null if each value is made of one sum. */
    public WholeArrayFunction whole() {
        return whole;
    }

    public boolean isIdentity() {
        return Eltwise.IDENTITY.equals(eltwise);
    }

    /** Returns whether its derivative can be read off its values. */
    public boolean isRelu() {
        return Eltwise.RELU.equals(eltwise);
    }

    /**
     * Applies it to arrays of any function's.
     *
     * @param sums FP32, channels-last; lost
     * @param channels the axis that holds the channels in the arrays of DL4J's layer
     * @param outputs makes the place of the output for its shape, which a user's function may choose
     * @return the output, its channels as the second axis
     */
    public INDArray forward(
            String layer,
            INDArray sums,
            ChannelAxis channels,
            boolean training,
            LayerWorkspaceMgr workspaceMgr,
            Function<long[], INDArray> outputs) {
        if (whole == null) {
            INDArray output = outputs.apply(sums.shape());
            forward(layer, sums, training, output);
            return output;
        }
        INDArray values = channels.toSecond(whole.values(channels.fromSecond(sums), training, workspaceMgr));
        INDArray output = outputs.apply(values.shape());
        context.copies().copyOrAssign(values, output);
        return output;
    }

    /**
     * Multiplies by the derivative of any function.
     *
     * @param sums FP32, channels-last; lost
     * @param epsilon the gradient of the output, of any type and order; stays as it is
     * @param channels the axis that holds the channels in the arrays of DL4J's backward pass
     * @param delta the gradient of the sums, of any type
     */
    public void backward(
            String layer,
            INDArray sums,
            INDArray epsilon,
            ChannelAxis channels,
            INDArray delta,
            LayerWorkspaceMgr workspaceMgr) {
        if (whole == null) {
            backward(layer, sums, epsilon, delta, workspaceMgr);
            return;
        }
        INDArray gradient = whole.gradient(channels.fromSecond(sums), channels.fromSecond(epsilon), workspaceMgr);
        context.copies().copyOrAssign(channels.toSecond(gradient), delta);
    }

    /**
     * Applies it, unless it's one of whole arrays.
     *
     * @param sums FP32, channels-last; lost
     * @param output of any type
     */
    public void forward(String layer, INDArray sums, boolean training, INDArray output) {
        if (eltwise == null) {
            context.copies()
                    .copy(
                            activation.getActivation(Workspaces.contiguous(sums), training),
                            Workspaces.contiguous(output));
            return;
        }
        if (!isIdentity()) {
            forwardFrom(layer, sums, sums);
        }
        context.copies().copy(sums, output);
    }

    /**
     * Multiplies by its derivative, unless it's one of whole arrays.
     *
     * @param sums FP32, channels-last; lost
     * @param epsilon the gradient of the output, of any type and order; stays as it is
     * @param delta the gradient of the sums, of any type
     */
    public void backward(
            String layer, INDArray sums, INDArray epsilon, INDArray delta, LayerWorkspaceMgr workspaceMgr) {
        INDArray above = context.copies().channelsLast(epsilon, DataType.FLOAT, workspaceMgr, ArrayType.BP_WORKING_MEM);
        if (eltwise == null) {
            INDArray own = ownCopy(above, epsilon, workspaceMgr);
            context.copies()
                    .copy(
                            activation
                                    .backprop(Workspaces.contiguous(sums), own)
                                    .getFirst(),
                            Workspaces.contiguous(delta));
        } else if (delta.dataType() == DataType.FLOAT) {
            backwardFrom(layer, sums, above, delta);
        } else {
            INDArray unrounded =
                    Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, above.shape());
            backwardFrom(layer, sums, above, unrounded);
            context.copies().copy(unrounded, delta);
        }
    }

    /** Applies it to an array, by oneDNN, into one of the same type and order. */
    public void forwardFrom(String layer, INDArray values, INDArray output) {
        kernels(layer, values).forward(values, output);
    }

    /**
     * Multiplies by its derivative, by oneDNN, for arrays of one type and order, from sums or, for ReLU, from values.
     */
    public void backwardFrom(String layer, INDArray sums, INDArray epsilon, INDArray delta) {
        if (context.takesForeignGradients() && eltwise.dropsGradients() && !Magnitudes.areFinite(epsilon)) {
            backwardByNd4j(sums, epsilon, delta);
        } else {
            kernels(layer, sums).backward(sums, epsilon, delta);
        }
    }

    private void backwardByNd4j(INDArray sums, INDArray epsilon, INDArray delta) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            INDArray own = sums.castTo(DataType.FLOAT).dup('c');
            INDArray above = epsilon.castTo(DataType.FLOAT).dup('c');
            delta.assign(activation.backprop(own, above).getFirst());
        }
    }

    // ND4J's activation functions write into the gradient that they are given.
    private INDArray ownCopy(INDArray above, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        boolean shared = Workspaces.address(above) == Workspaces.address(epsilon);
        if (!shared) {
            return Workspaces.contiguous(above);
        }
        INDArray own = Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, above.shape());
        context.copies().copy(above, own);
        return Workspaces.contiguous(own);
    }

    private EltwiseKernels kernels(String layer, INDArray array) {
        Layout layout = Layout.of(array);
        return kernels.get(layout, () -> EltwiseKernels.make(context, layer, eltwise, layout));
    }

    @Override
    public void close() {
        kernels.close();
    }
}
