package org.dl4jamp.twin;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Casts a twin's inputs and results. An engine may have a faster way, or another order in memory, than ND4J. */
@FunctionalInterface
public interface Casting {
    /** With ND4J's operations. */
    Casting ND4J = Casts::cast;

    /**
     * Returns the same casts, but arrays of whole numbers stay what they are: as row numbers of an embedding they have
     * digits that FLOAT hasn't.
     */
    static Casting ofRowNumbers(Casting others) {
        return new RowNumberCasting(others);
    }

    /**
     * Returns an array in another data type, of the same shape.
     *
     * @param array may be null
     * @param type the new type
     * @param workspaceMgr has the workspace for the result
     * @param destination which of its workspaces
     * @return the array itself if it has the type already
     */
    INDArray cast(INDArray array, DataType type, LayerWorkspaceMgr workspaceMgr, ArrayType destination);

    /**
     * Reorders an array into the order in memory that DL4J's own code expects.
     *
     * @param array may be null
     * @return the array itself if it's in that order already, or the engine has no other
     */
    default INDArray usualOrder(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType destination) {
        return array;
    }

    /**
     * Moves a gradient to where it lives until the layer that it is handed to is done.
     *
     * @return the array itself if it lives that long
     */
    default INDArray leverage(INDArray gradient, LayerWorkspaceMgr workspaceMgr) {
        return workspaceMgr.leverageTo(ArrayType.ACTIVATION_GRAD, gradient);
    }

    /**
     * Returns a gradient to which DL4J adds, with {@link INDArray#addi(INDArray)}, those of other consumers of the same
     * activations.
     *
     * @param gradient the first of them; may be null
     * @return an array over the same memory
     */
    default INDArray summable(INDArray gradient) {
        return gradient;
    }
}
