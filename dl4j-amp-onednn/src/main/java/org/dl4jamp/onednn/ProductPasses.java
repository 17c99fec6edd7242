package org.dl4jamp.onednn;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What dense layers and convolutions share: the product with bias, then the activation function. Identity and ReLU are oneDNN's; other
 * functions are ND4J's, on the sums in FP32, and rounded once.
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
    private final IActivation activation;
    private final boolean identity;
    private final boolean relu;
    private final KernelCache<Layout, EltwiseKernels> reluKernels = new KernelCache<>(Twins.SHAPES);
    private INDArray keptOutput;
    private boolean outputStays;
    private boolean inputGradientUnwanted;

    ProductPasses(OneDnnContext context, DataType type, IActivation activation) {
        this.context = context;
        this.type = type;
        this.activation = activation;
        this.identity = activation.getClass() == ActivationIdentity.class;
        this.relu = Eltwise.of(activation).filter(Eltwise.RELU::equals).isPresent();
    }

    void outputStays() {
        outputStays = true;
    }

    boolean appliesRelu() {
        return relu;
    }

    INDArray forward(
            ProductKernels kernels,
            INDArray input,
            Parameters parameters,
            boolean training,
            LayerWorkspaceMgr workspaceMgr) {
        keptOutput = null;
        INDArray x = context.channelsLast(input, type, workspaceMgr, ArrayType.FF_WORKING_MEM);
        kernels.takeWeights(parameters.weights(), training);
        INDArray output = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATIONS, type, kernels.outputShape());
        if (identity || relu) {
            kernels.forward(x, parameters.bias(), output);
            keptOutput = training && canKeep(workspaceMgr) ? output : null;
        } else {
            INDArray z = Workspaces.channelsLast(
                    workspaceMgr, ArrayType.FF_WORKING_MEM, DataType.FLOAT, kernels.outputShape());
            kernels.forwardInFloat(x, parameters.bias(), z);
            context.copy(activation.getActivation(Workspaces.contiguous(z), training), Workspaces.contiguous(output));
        }
        return output;
    }

    /**
     * Whether the output will be the same when the backward pass comes. It isn't if it was only a stop before a cast, nor for sure in FP32 if a
     * layer of DL4J's is next, which may apply dropout in place.
     */
    private boolean canKeep(LayerWorkspaceMgr workspaceMgr) {
        return relu
                && (type == DataType.BFLOAT16 || outputStays)
                && Workspaces.isSeparate(workspaceMgr, ArrayType.ACTIVATIONS, ArrayType.FF_WORKING_MEM);
    }

    /** The gradient of what is before the activation function. */
    INDArray delta(
            ProductKernels kernels,
            INDArray x,
            Parameters parameters,
            INDArray epsilon,
            LayerWorkspaceMgr workspaceMgr) {
        if (identity) {
            return context.channelsLast(epsilon, type, workspaceMgr, ArrayType.BP_WORKING_MEM);
        }
        INDArray delta = Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, type, epsilon.shape());
        if (keptOutput != null) {
            INDArray above = context.channelsLast(epsilon, type, workspaceMgr, ArrayType.BP_WORKING_MEM);
            // ReLU is positive where its input was.
            reluBackward(keptOutput, above, delta);
            keptOutput = null;
            return delta;
        }
        INDArray z = Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, epsilon.shape());
        kernels.takeWeights(parameters.weights(), true);
        kernels.forwardInFloat(x, parameters.bias(), z);
        INDArray above = context.channelsLast(epsilon, DataType.FLOAT, workspaceMgr, ArrayType.BP_WORKING_MEM);
        if (relu && type == DataType.FLOAT) {
            reluBackward(z, above, delta);
        } else {
            context.copy(
                    activation
                            .backprop(Workspaces.contiguous(z), ownCopy(above, epsilon, workspaceMgr))
                            .getFirst(),
                    Workspaces.contiguous(delta));
        }
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

    private void reluBackward(INDArray input, INDArray above, INDArray delta) {
        Layout layout = Layout.of(input);
        reluKernels
                .get(layout, () -> EltwiseKernels.make(context, "ReLU of a product", Eltwise.RELU, layout))
                .backward(input, above, delta);
    }

    /** Whether {@link #backward} may leave out the gradient of the input. */
    void spareInputGradient(boolean unwanted) {
        inputGradientUnwanted = unwanted;
    }

    /** Both gradients: of the parameters, into their views, and of the input, null if nobody wants it. */
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
        return next;
    }

    /** The input, as the kernels want it. */
    INDArray input(INDArray input, LayerWorkspaceMgr workspaceMgr) {
        return context.channelsLast(input, type, workspaceMgr, ArrayType.BP_WORKING_MEM);
    }

    void clear() {
        keptOutput = null;
    }

    @Override
    public void close() {
        clear();
        reluKernels.close();
    }
}
