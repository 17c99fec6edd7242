package org.dl4jamp.twin;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.ndarray.INDArray;

/** How a layer that has nothing left to compute hands its input on. */
@FunctionalInterface
public interface Handover {
    /** As DL4J does: an array in a workspace that closes with the layer before is copied. */
    Handover DL4J = (input, workspaceMgr) -> workspaceMgr.leverageTo(ArrayType.ACTIVATIONS, input);

    /**
     * Returns what the layer hands on.
     *
     * @param input what it's given
     * @param workspaceMgr knows how long what it hands on has to live
     * @return the array itself if it lives that long, else a copy
     */
    INDArray handOn(INDArray input, LayerWorkspaceMgr workspaceMgr);
}
