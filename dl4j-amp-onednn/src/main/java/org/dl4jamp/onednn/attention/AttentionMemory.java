package org.dl4jamp.onednn.attention;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Workspaces;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The memory for arrays: one of DL4J's workspaces. */
record AttentionMemory(LayerWorkspaceMgr workspaceMgr, ArrayType place) {
    /** Returns that for intermediate results of a forward pass. */
    static AttentionMemory ofForward(LayerWorkspaceMgr workspaceMgr) {
        return new AttentionMemory(workspaceMgr, ArrayType.FF_WORKING_MEM);
    }

    /** Returns that for intermediate results of a backward pass. */
    static AttentionMemory ofBackward(LayerWorkspaceMgr workspaceMgr) {
        return new AttentionMemory(workspaceMgr, ArrayType.BP_WORKING_MEM);
    }

    INDArray create(DataType type, long... shape) {
        return Workspaces.dense(workspaceMgr, place, type, shape);
    }

    INDArray channelsLast(DataType type, long... shape) {
        return Workspaces.channelsLast(workspaceMgr, place, type, shape);
    }
}
