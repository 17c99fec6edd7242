package org.dl4jamp.twin;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Returns the input of a layer that has nothing left to compute. */
@FunctionalInterface
public interface Handover {
    /** As DL4J does: an array in a workspace that closes with the layer before is copied. */
    Handover DL4J = (input, workspaceMgr) -> workspaceMgr.leverageTo(ArrayType.ACTIVATIONS, input);

    /**
     * Returns a layer's output: its input, or a copy in the workspace for activations if that doesn't live long enough.
     */
    INDArray handOn(INDArray input, LayerWorkspaceMgr workspaceMgr);
}
