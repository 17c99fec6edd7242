package org.dl4jamp.onednn.twin;

import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Rounds the parameters themselves: for opt levels without master weights. */
public final class RoundedParameters implements Twin.Weights {
    private final OneDnnContext context;
    private final INDArray parameters;
    private final INDArray rounded;

    public RoundedParameters(OneDnnContext context, INDArray parameters) {
        this.context = context;
        this.parameters = parameters.reshape(parameters.length());
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            this.rounded = Nd4j.createUninitialized(DataType.BFLOAT16, parameters.length());
        }
    }

    @Override
    public void stepDone() {
        context.copies().copy(parameters, rounded);
        context.copies().copy(rounded, parameters);
    }
}
