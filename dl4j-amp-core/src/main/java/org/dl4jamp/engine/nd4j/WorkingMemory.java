package org.dl4jamp.engine.nd4j;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.twin.Casting;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;

/** One of DL4J's workspaces, for arrays that a layer needs no longer than its turn lasts. */
record WorkingMemory(LayerWorkspaceMgr manager, ArrayType place) {
    static WorkingMemory forward(LayerWorkspaceMgr manager) {
        return new WorkingMemory(manager, ArrayType.FF_WORKING_MEM);
    }

    static WorkingMemory backward(LayerWorkspaceMgr manager) {
        return new WorkingMemory(manager, ArrayType.BP_WORKING_MEM);
    }

    /**
     * Returns memory that is taken back after each part of a layer's turn, such as a time step, to be {@linkplain #open
     * opened} for each.
     */
    WorkingMemory ofPart() {
        return new WorkingMemory(
                manager,
                place == ArrayType.FF_WORKING_MEM
                        ? ArrayType.RNN_FF_LOOP_WORKING_MEM
                        : ArrayType.RNN_BP_LOOP_WORKING_MEM);
    }

    /** Opens the memory, for one that isn't open throughout the layer's turn. */
    MemoryWorkspace open() {
        return manager.notifyScopeEntered(place);
    }

    /** Returns an array with arbitrary content. */
    INDArray create(DataType type, char order, long... shape) {
        return allocator().createUninitialized(place, type, shape, order);
    }

    /** Returns an array of zeros. */
    INDArray zeros(DataType type, char order, long... shape) {
        return allocator().create(place, type, shape, order);
    }

    private LayerWorkspaceMgr allocator() {
        return manager.hasConfiguration(place) ? manager : LayerWorkspaceMgr.noWorkspaces();
    }

    /** Returns the array itself if it has the type, else a contiguous copy. */
    INDArray cast(INDArray array, DataType type) {
        return Casting.ND4J.cast(array, type, manager, place);
    }
}
