package org.dl4jamp.onednn.attention;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Workspaces;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The memory for arrays: one of DL4J's workspaces. */
record AttentionMemory(LayerWorkspaceMgr workspaceMgr, ArrayType place) {
    INDArray create(DataType type, long... shape) {
        return Workspaces.dense(workspaceMgr, place, type, shape);
    }
}
