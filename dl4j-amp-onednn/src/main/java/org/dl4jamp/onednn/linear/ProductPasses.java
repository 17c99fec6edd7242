package org.dl4jamp.onednn.linear;

import java.util.Optional;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.activation.ActivationFunction;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.LentGradients;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.GroupSum;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The passes of layers with products: product, bias, activation function. A function that oneDNN has is fused into its
 * product. Any other is ND4J's, on the sums in FP32, rounded once.
 */
public final class ProductPasses implements AutoCloseable {
    /**
     * Weights and bias, or their gradients, in FP32.
     *
     * @param weights {@code [nOut, nIn, ...]}
     * @param bias nOut numbers; null if there is none
     */
    public record Parameters(INDArray weights, INDArray bias) {}

    private final OneDnnContext context;
    private final DataType type;
    private final ChannelAxis channels;
    private final ActivationFunction function;
    private final LentGradients.OfInput inputGradient;
    private INDArray keptOutput;
    private boolean outputStays;
    private boolean inputGradientUnwanted;
    private GroupSum sum;
    private Integer place;

    ProductPasses(OneDnnContext context, DataType type, ChannelAxis channels, IActivation activation) {
        this.context = context;
        this.type = type;
        this.channels = channels;
        this.function = new ActivationFunction(context, activation);
        this.inputGradient = context.lentGradients().ofInput();
    }

    void outputStays() {
        outputStays = true;
    }

    void lendInputGradient() {
        inputGradient.lend();
    }

    /**
     * Makes the forward pass compute a group of layers in inference.
     *
     * @param added the array that is added before the activation function; null for nothing
     * @param output where the result goes
     */
    void lead(GroupSum added, Optional<Integer> output) {
        sum = added;
        place = output.orElse(null);
    }

    /** Returns whether the product's kernels are to add something. */
    boolean addsASum() {
        return sum != null;
    }

    /** Returns the activation function that the product's kernels are to apply; null if they aren't to. */
    Eltwise fusedFunction() {
        return function.isIdentity() ? null : function.eltwise();
    }

    /** Returns an input in the type and order of the kernels. */
    INDArray ready(INDArray input, ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        return context.copies().channelsLast(channels.toSecond(input), type, workspaceMgr, working);
    }

    /**
     * Runs the forward pass.
     *
     * @param x the input in the type and order of the kernels
     */
    INDArray forward(
            ProductKernels kernels,
            INDArray x,
            Parameters parameters,
            boolean training,
            LayerWorkspaceMgr workspaceMgr) {
        keptOutput = null;
        kernels.takeWeights(parameters.weights(), training);
        INDArray output = output(kernels.outputShape(), workspaceMgr);
        if (sum != null) {
            forwardBeforeSum(kernels, x, parameters.bias(), output, workspaceMgr);
        } else if (function.eltwise() != null) {
            kernels.forward(x, parameters.bias(), output);
            keptOutput = training && canKeep(workspaceMgr) ? output : null;
        } else {
            INDArray z = Workspaces.channelsLast(
                    workspaceMgr, ArrayType.FF_WORKING_MEM, DataType.FLOAT, kernels.outputShape());
            kernels.forwardInFloat(x, parameters.bias(), z);
            function.forward(kernels.layer(), z, training, output);
        }
        return channels.fromSecond(output);
    }

    private INDArray output(long[] shape, LayerWorkspaceMgr workspaceMgr) {
        return place == null
                ? Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATIONS, type, shape)
                : context.activationMemory().array(place, Layout.channelsLast(type, shape), workspaceMgr);
    }

    private void forwardBeforeSum(
            ProductKernels kernels, INDArray x, INDArray bias, INDArray output, LayerWorkspaceMgr workspaceMgr) {
        INDArray summand = sum.other(channels.fromSecond(output).shape());
        if (summand == null) {
            kernels.forwardPlain(x, bias, output);
        } else {
            kernels.forwardAdding(
                    x,
                    bias,
                    context.copies()
                            .channelsLast(channels.toSecond(summand), type, workspaceMgr, ArrayType.FF_WORKING_MEM),
                    output);
            sum.made();
        }
    }

    /**
     * Returns whether the output is unchanged when the backward pass starts. It may not be if a cast follows, or in
     * FP32 if other code may write into it. In BFLOAT16 other code has copies.
     */
    private boolean canKeep(LayerWorkspaceMgr workspaceMgr) {
        return function.isRelu()
                && (type == DataType.BFLOAT16 || outputStays)
                && Workspaces.staysUntilBackward(workspaceMgr);
    }

    /**
     * Returns the gradient of the sums before the activation function, in the type and order of the kernels.
     *
     * @param x the input in the type and order of the kernels
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
        if (function.isIdentity()) {
            return context.copies().channelsLast(given, type, workspaceMgr, ArrayType.BP_WORKING_MEM);
        }
        INDArray delta = Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, type, given.shape());
        if (keptOutput != null) {
            INDArray above = context.copies().channelsLast(given, type, workspaceMgr, ArrayType.BP_WORKING_MEM);
            // ReLU is positive where its input was.
            function.backwardFrom(kernels.layer(), keptOutput, above, delta);
            keptOutput = null;
            return delta;
        }
        INDArray z = Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, given.shape());
        kernels.takeWeights(parameters.weights(), true);
        kernels.forwardInFloat(x, parameters.bias(), z);
        function.backward(kernels.layer(), z, given, delta, workspaceMgr);
        return delta;
    }

    /** Makes {@link #backward} leave out the gradient of the input, or compute it. */
    void spareInputGradient(boolean unwanted) {
        inputGradientUnwanted = unwanted;
    }

    /**
     * Writes the gradients of the parameters into their views, and returns that of the input, null if it's unused.
     *
     * @param x the input in the type and order of the kernels
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
        INDArray next = inputGradient.create(workspaceMgr, type, x.shape());
        kernels.backwardData(delta, parameters.weights(), next);
        return channels.fromSecond(next);
    }

    void clear() {
        keptOutput = null;
    }

    @Override
    public void close() {
        clear();
        function.close();
    }
}
