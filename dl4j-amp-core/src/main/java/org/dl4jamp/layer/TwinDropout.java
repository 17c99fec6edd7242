package org.dl4jamp.layer;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Applies a layer's input dropout to the input of its twin, which is without: so the result can be kept in the type
 * that inputs are kept in. Draws the random numbers that DL4J's layer would draw. Does nothing if the layer has no
 * dropout.
 */
final class TwinDropout {
    private final Layer master;
    private final Twin twin;
    private boolean applied;

    TwinDropout(Layer master, Twin twin) {
        this.master = master;
        this.twin = twin;
    }

    /** Called when there is another input, or none. */
    void inputChanged() {
        applied = false;
    }

    /**
     * Drops out of a settled input, unless that was done.
     *
     * @param working the working memory of the pass
     */
    void apply(KeptInput input, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        if (twin.dropout() == null || applied) {
            return;
        }
        INDArray whole = input.array();
        INDArray from = asDropped(twin.casting().cast(whole, type(), workspaceMgr, working));
        char order = orderOfDl4j(asDropped(whole));
        INDArray to = workspaceMgr.createUninitialized(working, from.dataType(), from.shape(), order);
        INDArray dropped = asDropped(twin.dropout()
                .applyDropout(from, to, master.getIterationCount(), master.getEpochCount(), workspaceMgr));
        input.replace(dropped, workspaceMgr, working);
        applied = true;
    }

    /**
     * Returns the gradient of the input before dropout.
     *
     * @param gradient of the input behind it; may be null
     */
    INDArray backprop(INDArray gradient, LayerWorkspaceMgr workspaceMgr) {
        if (twin.dropout() == null || gradient == null) {
            return gradient;
        }
        INDArray cast = asDropped(twin.casting().cast(gradient, type(), workspaceMgr, ArrayType.BP_WORKING_MEM));
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
    private DataType type() {
        return twin.dataType() == DataType.BFLOAT16 ? DataType.FLOAT : twin.dataType();
    }

    void clear() {
        applied = false;
        if (twin.dropout() != null) {
            twin.dropout().clear();
        }
    }
}
