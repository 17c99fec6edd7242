package org.dl4jamp.onednn.cell;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The memory for a recurrent layer's arrays: one of DL4J's workspaces. */
public record SequenceMemory(LayerWorkspaceMgr workspaceMgr, ArrayType place) {
    public INDArray create(DataType type, long... shape) {
        return Workspaces.dense(workspaceMgr, place, type, shape);
    }

    /** Returns a copy, in a type; null of null. */
    public INDArray copy(OneDnnContext context, DataType type, INDArray from) {
        if (from == null) {
            return null;
        }
        INDArray to = create(type, from.shape());
        context.copies().copy(from, to);
        return to;
    }

    public INDArray zeros(DataType type, long... shape) {
        return create(type, shape).assign(0);
    }
}
