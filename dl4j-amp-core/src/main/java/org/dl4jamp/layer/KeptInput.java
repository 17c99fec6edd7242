package org.dl4jamp.layer;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.HiddenFields;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The input of a {@link TwinLayer}: first as it was given, then in the narrower type in which it's kept between forward
 * and backward pass. Each pass gives it to the twin in the twin's own type.
 *
 * <p>The layer's input dropout, if it has one and the twin is without, is applied here, so that the result can be kept
 * in that narrower type. It draws the random numbers that DL4J's layer would draw.
 */
final class KeptInput {
    private final Layer master;
    private final Twin twin;
    private final DataType rounded;
    private INDArray array;
    private DataType givenType = DataType.FLOAT;
    private boolean settled;
    private boolean passedOn;
    private boolean dropped;

    KeptInput(TwinSetup setup) {
        this.master = setup.master();
        this.twin = setup.twin();
        this.rounded = setup.rounded();
    }

    /**
     * Takes an input, which may be null, as it is: a graph sets inputs while another vertex's workspaces are open.
     *
     * @param toMaster whether the master is given it in any case: a later pass mustn't find it waiting
     */
    void give(INDArray given, boolean toMaster) {
        settled = false;
        passedOn = toMaster;
        dropped = false;
        array = given;
        if (given != null) {
            givenType = given.dataType();
        }
    }

    /** Returns the input as it's now; null if there is none. */
    INDArray array() {
        return array;
    }

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
     * Passes a pending input on to the layer that replaces this one. That of a pass that failed is left out: DL4J's
     * bidirectional layer reads it at once, in a workspace that has been closed.
     */
    void handOver(Layer next) {
        if (array != null && LayerWorkspaces.isReadable(array)) {
            giveIfPending(next);
        }
    }

    /**
     * Casts the input to the type that it's kept in, when it's the layer's own turn. {@code working} is the working
     * memory of the pass.
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

    /** Drops out of a settled input, unless that was done. {@code working} is the working memory of the pass. */
    void dropOut(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        if (twin.dropout() == null || dropped) {
            return;
        }
        INDArray from = asDropped(twin.casting().cast(array, typeOfDropout(), workspaceMgr, working));
        char order = orderOfDl4j(asDropped(array));
        INDArray to = workspaceMgr.createUninitialized(working, from.dataType(), from.shape(), order);
        INDArray other = asDropped(twin.dropout()
                .applyDropout(from, to, master.getIterationCount(), master.getEpochCount(), workspaceMgr));
        LayerWorkspaceMgr keeper = LayerWorkspaces.keeper(workspaceMgr, working, array);
        array = other.dataType() == array.dataType()
                ? keeper.leverageTo(ArrayType.INPUT, other)
                : twin.casting().cast(other, array.dataType(), keeper, ArrayType.INPUT);
        dropped = true;
    }

    /** Returns the gradient of the input before dropout from that of the input behind it, which may be null. */
    INDArray beforeDropout(INDArray gradient, LayerWorkspaceMgr workspaceMgr) {
        if (twin.dropout() == null || gradient == null) {
            return gradient;
        }
        INDArray cast =
                asDropped(twin.casting().cast(gradient, typeOfDropout(), workspaceMgr, ArrayType.BP_WORKING_MEM));
        return asDropped(twin.dropout().backprop(cast, cast, master.getIterationCount(), master.getEpochCount()));
    }

    /**
     * Returns an array as DL4J drops from it, and back again: its LSTM has features second then, whatever order of axes
     * it was given.
     */
    private INDArray asDropped(INDArray array) {
        return master.conf().getLayer() instanceof LSTM lstm && lstm.getRnnDataFormat() == RNNFormat.NWC
                ? array.permute(0, 2, 1)
                : array;
    }

    /**
     * Returns the order of the array that DL4J would have here: random numbers are drawn by its positions in memory.
     * DL4J's recurrent layers return order {@code f}; an engine's may return another, with the time steps one after the
     * other.
     */
    private static char orderOfDl4j(INDArray array) {
        boolean stepByStep =
                array.rank() == 3 && array.stride(2) >= array.stride(0) && array.stride(2) >= array.stride(1);
        return stepByStep ? 'f' : array.ordering();
    }

    // ND4J's random operations don't take BFLOAT16. Where the twin is FLOAT they draw the same numbers as DL4J's layer.
    private DataType typeOfDropout() {
        return twin.dataType() == DataType.BFLOAT16 ? DataType.FLOAT : twin.dataType();
    }

    /**
     * Sets the twin's input, cast if need be, and returns the workspaces for its result.
     *
     * @param castsResult whether the result is cast to another array
     * @param result the type of the result
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
     * it makes, which it keeps for a backward pass in training.
     */
    LayerWorkspaceMgr handToMaster(
            LayerWorkspaceMgr workspaceMgr, ArrayType working, boolean training, boolean castsResult) {
        LayerWorkspaceMgr inner = inner(workspaceMgr, working, !training, castsResult, ArrayType.ACTIVATIONS);
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            boolean rounded = array.dataType().isFPType() && array.dataType() != DataType.FLOAT;
            INDArray own = (rounded ? array.castTo(DataType.FLOAT) : array).dup('c');
            if (dropped) {
                HiddenFields.setDropped(master, own, inner);
            } else {
                master.setInput(own, inner);
            }
        }
        return inner;
    }

    private static LayerWorkspaceMgr inner(
            LayerWorkspaceMgr workspaceMgr, ArrayType working, boolean castsIn, boolean castsResult, ArrayType result) {
        List<ArrayType> redirected = new ArrayList<>();
        if (castsIn || !LayerWorkspaces.isOpen(workspaceMgr, ArrayType.INPUT)) {
            redirected.add(ArrayType.INPUT);
        }
        if (castsResult) {
            redirected.add(result);
        }
        return redirected.isEmpty()
                ? workspaceMgr
                : LayerWorkspaces.workingMemory(workspaceMgr, working, redirected.toArray(ArrayType[]::new));
    }

    void clear() {
        settled = false;
        dropped = false;
        array = null;
        if (twin.dropout() != null) {
            twin.dropout().clear();
        }
    }
}
