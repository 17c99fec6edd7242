package org.dl4jamp.onednn.pretrained;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Workspaces;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Makes arrays with arbitrary content, in ND4J's order {@code c}, for the time of one pass. */
@FunctionalInterface
interface WorkingMemory {
    /** The workspace that is open, if there is one: DL4J opens one around pretraining, but not for each type. */
    WorkingMemory OPEN = (type, shape) -> Nd4j.createUninitialized(type, shape);

    INDArray create(DataType type, long... shape);

    static WorkingMemory of(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return (type, shape) -> Workspaces.dense(workspaceMgr, working, type, shape);
    }
}
