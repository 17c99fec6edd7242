package org.dl4jamp.layer;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The input of a {@link TwinLayer}: first as it was given, then in the narrower type in which it's kept between forward
 * and backward pass. Each pass gives it to the twin in the twin's own type.
 */
final class KeptInput {
    private final Layer master;
    private final Twin twin;
    private final DataType rounded;
    private INDArray array;
    private DataType givenType = DataType.FLOAT;
    private boolean settled;
    private boolean passedOn;

    /** @param rounded the precision that it's rounded to if the twin needs it rounded */
    KeptInput(Layer master, Twin twin, DataType rounded) {
        this.master = master;
        this.twin = twin;
        this.rounded = rounded;
    }

    /**
     * Takes an input as it is: a graph sets inputs while another vertex's workspaces are open.
     *
     * @param given may be null
     */
    void give(INDArray given) {
        settled = false;
        passedOn = false;
        array = given;
        if (given != null) {
            givenType = given.dataType();
        }
    }

    /** Returns the input as it's now; null if there is none. */
    INDArray array() {
        return array;
    }

    /** Returns the type of the last array that was given. */
    DataType givenType() {
        return givenType;
    }

    /** Gives the master the input in FP32, set only now: the master keeps it until the input is cleared. */
    void informMaster() {
        boolean informed = settled && twin.compute() == master;
        if (!informed && array != null) {
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                master.setInput(array.castTo(DataType.FLOAT), LayerWorkspaceMgr.noWorkspaces());
            }
        }
    }

    /**
     * Passes an input that no pass has taken yet on to another layer, as it is: the workspaces that were open when it
     * was set may be closed.
     */
    void giveIfPending(Layer other) {
        if (array == null || settled || passedOn) {
            return;
        }
        passedOn = true;
        LayerWorkspaceMgr asItIs = LayerWorkspaceMgr.noWorkspaces();
        if (array.isAttached()) {
            asItIs.setNoLeverageOverride(array.data().getParentWorkspace().getId());
        }
        other.setInput(array, asItIs);
    }

    /**
     * Casts the input to the type that it's kept in, when it's the layer's own turn.
     *
     * @param working the working memory of the pass
     */
    void settle(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        if (settled) {
            return;
        }
        if (array == null) {
            throw new AmpException("Layer \"" + master.conf().getLayer().getLayerName()
                    + "\" has no input: it was cleared since it ran forward, or mixed precision was enabled since then."
                    + " Run the network forward again");
        }
        settled = true;
        LayerWorkspaceMgr keeper = LayerWorkspaces.keeper(workspaceMgr, working, array);
        boolean keepsRounded = twin.roundsInput() && !isRoundedByEachPass();
        INDArray kept = keepsRounded ? twin.casting().cast(array, rounded, keeper, ArrayType.INPUT) : array;
        if (twin.retention() == Twin.Retention.CAST_INPUT) {
            kept = twin.casting().cast(kept, twin.dataType(), keeper, ArrayType.INPUT);
        }
        array = kept == array ? keeper.leverageTo(ArrayType.INPUT, kept) : kept;
        if (twin.retention() == Twin.Retention.CAST_INPUT) {
            twin.compute().setInput(array, keeper);
        }
    }

    /**
     * Returns whether keeping a rounded copy would only take more memory. An array outside of workspaces, such as the
     * features of a minibatch, stays until the backward pass anyway.
     */
    private boolean isRoundedByEachPass() {
        return !array.isAttached()
                && twin.retention() == Twin.Retention.INPUT
                && twin.dataType() == rounded
                && twin.dropout() == null;
    }

    /**
     * Keeps an array in the place of the settled input, in its type.
     *
     * @param other may be in working memory
     * @param working the working memory of the pass
     */
    void replace(INDArray other, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        LayerWorkspaceMgr keeper = LayerWorkspaces.keeper(workspaceMgr, working, array);
        array = other.dataType() == array.dataType()
                ? keeper.leverageTo(ArrayType.INPUT, other)
                : twin.casting().cast(other, array.dataType(), keeper, ArrayType.INPUT);
    }

    /**
     * Sets the twin's input, cast if need be, and returns the workspaces for its result.
     *
     * @param working the working memory of the pass
     * @param castsResult whether what it returns is only on its way to another array
     * @param result the type of its result
     */
    LayerWorkspaceMgr handToTwin(
            LayerWorkspaceMgr workspaceMgr, ArrayType working, boolean castsResult, ArrayType result) {
        boolean castsIn = twin.retention() == Twin.Retention.INPUT && array.dataType() != twin.dataType();
        LayerWorkspaceMgr inner = inner(workspaceMgr, working, castsIn, castsResult, result);
        if (twin.retention() == Twin.Retention.INPUT) {
            twin.compute().setInput(twin.casting().cast(array, twin.dataType(), inner, working), inner);
        }
        return inner;
    }

    /**
     * Sets the master's input: a copy, since DL4J's layers may write into it in inference. Says where it is to put what
     * it makes.
     *
     * @param training whether it keeps its input, and what it makes of it, for a backward pass
     * @param castsResult whether what it returns is only on its way to another array
     */
    LayerWorkspaceMgr handToMaster(LayerWorkspaceMgr workspaceMgr, boolean training, boolean castsResult) {
        LayerWorkspaceMgr inner =
                inner(workspaceMgr, ArrayType.FF_WORKING_MEM, !training, castsResult, ArrayType.ACTIVATIONS);
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            boolean rounded = array.dataType().isFPType() && array.dataType() != DataType.FLOAT;
            master.setInput((rounded ? array.castTo(DataType.FLOAT) : array).dup('c'), inner);
        }
        return inner;
    }

    private static LayerWorkspaceMgr inner(
            LayerWorkspaceMgr workspaceMgr, ArrayType working, boolean castsIn, boolean castsResult, ArrayType result) {
        boolean redirectsInput = castsIn || !LayerWorkspaces.isOpen(workspaceMgr, ArrayType.INPUT);
        LayerWorkspaceMgr inner;
        if (redirectsInput && castsResult) {
            inner = LayerWorkspaces.workingMemory(workspaceMgr, working, ArrayType.INPUT, result);
        } else if (redirectsInput) {
            inner = LayerWorkspaces.workingMemory(workspaceMgr, working, ArrayType.INPUT);
        } else if (castsResult) {
            inner = LayerWorkspaces.workingMemory(workspaceMgr, working, result);
        } else {
            inner = workspaceMgr;
        }
        return inner;
    }

    void clear() {
        settled = false;
        array = null;
    }
}
