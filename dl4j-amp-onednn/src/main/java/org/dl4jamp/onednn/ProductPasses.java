package org.dl4jamp.onednn;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What layers with products share: the product with bias, then the activation function. Functions that oneDNN knows are part of its product;
 * others are ND4J's, on the sums in FP32, and rounded once.
 */
final class ProductPasses implements AutoCloseable {
    /**
     * Weights and bias, or their gradients, in FP32.
     *
     * @param weights {@code [nOut, nIn, ...]}
     * @param bias nOut numbers; null if there is none
     */
    record Parameters(INDArray weights, INDArray bias) {}

    private final OneDnnContext context;
    private final DataType type;
    private final ChannelAxis channels;
    private final IActivation activation;
    private final Eltwise function;
    private final KernelCache<Layout, EltwiseKernels> functionKernels = new KernelCache<>(Twins.SHAPES);
    private INDArray keptOutput;
    private boolean outputStays;
    private boolean inputGradientUnwanted;

    ProductPasses(OneDnnContext context, DataType type, ChannelAxis channels, IActivation activation) {
        this.context = context;
        this.type = type;
        this.channels = channels;
        this.activation = activation;
        this.function = Eltwise.of(activation).orElse(null);
    }

    void outputStays() {
        outputStays = true;
    }

    /** The activation function that the product's kernels are to apply; null if they aren't to. */
    Eltwise fusedFunction() {
        return isIdentity() ? null : function;
    }

    private boolean isIdentity() {
        return Eltwise.IDENTITY.equals(function);
    }

    /** The input of a forward pass as the kernels want it. */
    INDArray inputForward(INDArray input, LayerWorkspaceMgr workspaceMgr) {
        return context.channelsLast(channels.toSecond(input), type, workspaceMgr, ArrayType.FF_WORKING_MEM);
    }

    /** The input of a backward pass as the kernels want it. */
    INDArray inputBackward(INDArray input, LayerWorkspaceMgr workspaceMgr) {
        return context.channelsLast(channels.toSecond(input), type, workspaceMgr, ArrayType.BP_WORKING_MEM);
    }

    /**
     * The forward pass.
     *
     * @param x the input as the kernels want it
     */
    INDArray forward(
            ProductKernels kernels,
            INDArray x,
            Parameters parameters,
            boolean training,
            LayerWorkspaceMgr workspaceMgr) {
        keptOutput = null;
        kernels.takeWeights(parameters.weights(), training);
        INDArray output = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATIONS, type, kernels.outputShape());
        if (function != null) {
            kernels.forward(x, parameters.bias(), output);
            keptOutput = training && canKeep(workspaceMgr) ? output : null;
        } else {
            INDArray z = Workspaces.channelsLast(
                    workspaceMgr, ArrayType.FF_WORKING_MEM, DataType.FLOAT, kernels.outputShape());
            kernels.forwardInFloat(x, parameters.bias(), z);
            context.copy(activation.getActivation(Workspaces.contiguous(z), training), Workspaces.contiguous(output));
        }
        return channels.fromSecond(output);
    }

    /**
     * Whether the output will be the same when the backward pass comes. It isn't if it was only a stop before a cast, nor for sure in FP32 if a
     * layer of DL4J's is next, which may apply dropout in place.
     */
    private boolean canKeep(LayerWorkspaceMgr workspaceMgr) {
        return Eltwise.RELU.equals(function)
                && (type == DataType.BFLOAT16 || outputStays)
                && Workspaces.isSeparate(workspaceMgr, ArrayType.ACTIVATIONS, ArrayType.FF_WORKING_MEM);
    }

    /**
     * The gradient of what is before the activation function, as the kernels want it.
     *
     * @param x the input as the kernels want it
     * @param epsilon the gradient of the output
     */
    INDArray delta(
            ProductKernels kernels,
            INDArray x,
            Parameters parameters,
            INDArray epsilon,
            LayerWorkspaceMgr workspaceMgr) {
        INDArray given = channels.toSecond(epsilon);
        Rejection.ofEpsilon(kernels.layer(), given, kernels.outputShape());
        if (isIdentity()) {
            return context.channelsLast(given, type, workspaceMgr, ArrayType.BP_WORKING_MEM);
        }
        INDArray delta = Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, type, given.shape());
        if (keptOutput != null) {
            INDArray above = context.channelsLast(given, type, workspaceMgr, ArrayType.BP_WORKING_MEM);
            // ReLU is positive where its input was.
            functionBackward(kernels, keptOutput, above, delta);
            keptOutput = null;
            return delta;
        }
        INDArray z = Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, given.shape());
        kernels.takeWeights(parameters.weights(), true);
        kernels.forwardInFloat(x, parameters.bias(), z);
        return throughFunction(kernels, z, given, delta, workspaceMgr);
    }

    private INDArray throughFunction(
            ProductKernels kernels, INDArray z, INDArray epsilon, INDArray delta, LayerWorkspaceMgr workspaceMgr) {
        INDArray above = context.channelsLast(epsilon, DataType.FLOAT, workspaceMgr, ArrayType.BP_WORKING_MEM);
        if (function == null) {
            INDArray own = ownCopy(above, epsilon, workspaceMgr);
            context.copy(activation.backprop(Workspaces.contiguous(z), own).getFirst(), Workspaces.contiguous(delta));
            return delta;
        }
        if (type == DataType.FLOAT) {
            functionBackward(kernels, z, above, delta);
            return delta;
        }
        INDArray unrounded =
                Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, above.shape());
        functionBackward(kernels, z, above, unrounded);
        context.copy(unrounded, delta);
        return delta;
    }

    // ND4J's activation functions write into the gradient that they are given.
    private INDArray ownCopy(INDArray above, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        boolean shared = Workspaces.address(above) == Workspaces.address(epsilon);
        if (!shared) {
            return Workspaces.contiguous(above);
        }
        INDArray own = Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, above.shape());
        context.copy(above, own);
        return Workspaces.contiguous(own);
    }

    private void functionBackward(ProductKernels kernels, INDArray input, INDArray above, INDArray delta) {
        Layout layout = Layout.of(input);
        functionKernels
                .get(layout, () -> EltwiseKernels.make(context, kernels.layer(), function, layout))
                .backward(input, above, delta);
    }

    /** Whether {@link #backward} may leave out the gradient of the input. */
    void spareInputGradient(boolean unwanted) {
        inputGradientUnwanted = unwanted;
    }

    /**
     * Both gradients: of the parameters, into their views, and of the input, null if nobody wants it.
     *
     * @param x the input as the kernels want it
     */
    INDArray backward(
            ProductKernels kernels,
            INDArray x,
            INDArray delta,
            Parameters parameters,
            Parameters gradients,
            LayerWorkspaceMgr workspaceMgr) {
        kernels.backwardWeights(x, delta, gradients.weights(), gradients.bias());
        if (inputGradientUnwanted) {
            return null;
        }
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, type, x.shape());
        kernels.backwardData(delta, parameters.weights(), next);
        return channels.fromSecond(next);
    }

    void clear() {
        keptOutput = null;
    }

    @Override
    public void close() {
        clear();
        functionKernels.close();
    }
}
