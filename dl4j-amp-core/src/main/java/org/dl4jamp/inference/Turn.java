package org.dl4jamp.inference;

import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** The input and the result of a layer or vertex in a pass that was noted. */
record Turn(Repetition.Member member, INDArray given, INDArray result) {
    /** Returns a copy of the result's present numbers. */
    float[] numbers() {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return result.castTo(DataType.FLOAT).dup('c').data().asFloat();
        }
    }
}
