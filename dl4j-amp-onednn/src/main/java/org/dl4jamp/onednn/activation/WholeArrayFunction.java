package org.dl4jamp.onednn.activation;

import java.util.Arrays;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationPReLU;
import org.nd4j.linalg.activations.impl.ActivationRReLU;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * An activation function that its own class computes on a whole FP32 array. Its values may depend on more than one sum,
 * on their places or on random numbers: softmax, PReLU, RReLU, and users' classes.
 *
 * <p>The class is given arrays with the axes that DL4J's layer gives it, in ND4J's order {@code c}. It may overwrite
 * them, and return others. A user's class may return values of another shape, and keep its argument for the backward
 * pass.
 */
public final class WholeArrayFunction {
    private final OneDnnContext context;
    private final IActivation activation;
    private INDArray outsideWorkspaces;

    WholeArrayFunction(OneDnnContext context, IActivation activation) {
        this.context = context;
        this.activation = activation;
    }

    /** Returns whether a function isn't one of ND4J's that make each value of one sum. */
    static boolean isOne(IActivation activation) {
        return isUsers(activation)
                || activation instanceof ActivationSoftmax
                || activation instanceof ActivationPReLU
                || activation instanceof ActivationRReLU;
    }

    private static boolean isUsers(IActivation activation) {
        return activation.getClass().getPackage() != ActivationIdentity.class.getPackage();
    }

    /**
     * Computes the values.
     *
     * @param sums of any type and order in memory; stay as they are
     * @return what the function returned
     */
    public INDArray values(INDArray sums, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray own = isUsers(activation)
                ? keepable(workspaceMgr, sums.shape())
                : Workspaces.dense(workspaceMgr, ArrayType.FF_WORKING_MEM, DataType.FLOAT, sums.shape());
        context.copies().copyOrAssign(sums, own);
        return activation.getActivation(own, training);
    }

    /** Returns an array that stays until the backward pass, as the one that DL4J's layer gives the function. */
    private INDArray keepable(LayerWorkspaceMgr workspaceMgr, long... shape) {
        if (context.infers() || Workspaces.staysUntilBackward(workspaceMgr)) {
            return Workspaces.dense(workspaceMgr, ArrayType.ACTIVATIONS, DataType.FLOAT, shape);
        }
        if (outsideWorkspaces == null || !Arrays.equals(outsideWorkspaces.shape(), shape)) {
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                outsideWorkspaces = Nd4j.createUninitialized(DataType.FLOAT, shape);
            }
        }
        return outsideWorkspaces;
    }

    /**
     * Computes the gradient of the sums.
     *
     * @param sums of any type and order in memory; stay as they are
     * @param epsilon the gradient of the values, of any type and order in memory; stays as it is
     * @return what the function returned, of the shape of the sums
     * @throws IllegalStateException if it returned an array of another shape
     */
    public INDArray gradient(INDArray sums, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray gradient = activation
                .backprop(backwardCopy(sums, workspaceMgr), backwardCopy(epsilon, workspaceMgr))
                .getFirst();
        if (!Arrays.equals(gradient.shape(), sums.shape())) {
            throw new IllegalStateException("Activation function " + activation + " returned a gradient of shape "
                    + Arrays.toString(gradient.shape()) + " for input of shape " + Arrays.toString(sums.shape()));
        }
        return gradient;
    }

    private INDArray backwardCopy(INDArray array, LayerWorkspaceMgr workspaceMgr) {
        INDArray copy = Workspaces.dense(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, array.shape());
        context.copies().copyOrAssign(array, copy);
        return copy;
    }
}
