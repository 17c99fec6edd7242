package org.dl4jamp.twin;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Casts a twin's inputs and results. An engine may have a faster way, or another order in memory, than ND4J. */
@FunctionalInterface
public interface Casting {
    /** Casts into DL4J's workspaces, with ND4J's operations. */
    Casting ND4J = (array, type, workspaceMgr, destination) -> {
        if (array == null || array.dataType() == type) {
            return array;
        }
        LayerWorkspaceMgr known =
                workspaceMgr.hasConfiguration(destination) ? workspaceMgr : LayerWorkspaceMgr.noWorkspaces();
        // assign() is twenty times faster than castTo() on ND4J's CPU backend, which allocates besides.
        return known.createUninitialized(destination, type, array.shape(), array.ordering())
                .assign(array);
    };

    /**
     * The same casts, but arrays of whole numbers stay what they are: as row numbers of an embedding they have digits
     * that FLOAT hasn't.
     *
     * @param others casts everything else
     */
    record OfRowNumbers(Casting others) implements Casting {
        @Override
        public INDArray cast(INDArray array, DataType type, LayerWorkspaceMgr workspaceMgr, ArrayType destination) {
            boolean whole = array != null && array.dataType().isIntType();
            return whole ? array : others.cast(array, type, workspaceMgr, destination);
        }

        @Override
        public INDArray usualOrder(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType destination) {
            return others.usualOrder(array, workspaceMgr, destination);
        }

        @Override
        public INDArray leverage(INDArray gradient, LayerWorkspaceMgr workspaceMgr) {
            return others.leverage(gradient, workspaceMgr);
        }

        @Override
        public INDArray summable(INDArray gradient) {
            return others.summable(gradient);
        }
    }

    /**
     * Returns an array, which may be null, in another data type and the same shape: itself if it has the type already.
     * The result is in the workspace for {@code destination}.
     */
    INDArray cast(INDArray array, DataType type, LayerWorkspaceMgr workspaceMgr, ArrayType destination);

    /**
     * Reorders an array, which may be null, into the order in memory that DL4J's own code expects. Returns the array
     * itself if it's in that order already, or the engine has no other.
     */
    default INDArray usualOrder(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType destination) {
        return array;
    }

    /**
     * Moves a gradient to where it lives until the layer that it is handed to is done. Returns the array itself if it
     * lives that long.
     */
    default INDArray leverage(INDArray gradient, LayerWorkspaceMgr workspaceMgr) {
        return workspaceMgr.leverageTo(ArrayType.ACTIVATION_GRAD, gradient);
    }

    /**
     * Returns an array over a gradient's memory to which DL4J adds, with {@link INDArray#addi(INDArray)}, those of
     * other consumers of the same activations. The gradient, the first of them, may be null.
     */
    default INDArray summable(INDArray gradient) {
        return gradient;
    }
}
