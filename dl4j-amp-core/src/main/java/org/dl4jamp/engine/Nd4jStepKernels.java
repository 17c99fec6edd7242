package org.dl4jamp.engine;

import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.reduce.floating.Norm1;
import org.nd4j.linalg.api.ops.impl.reduce.longer.MatchCondition;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.conditions.Conditions;

/** Sums the magnitudes of gradients to see whether they are finite: one reduction and one number read by the host, unless they aren't. */
final class Nd4jStepKernels implements StepKernels {
    private final INDArray magnitude;

    Nd4jStepKernels() {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            magnitude = Nd4j.scalar(DataType.FLOAT, 0);
        }
    }

    @Override
    public boolean allFinite(INDArray gradients) {
        // The sum of magnitudes is twenty times faster than counting. It may overflow on finite elements, so a
        // suspicion is checked.
        Nd4j.getExecutioner().exec(new Norm1(gradients, magnitude));
        return Double.isFinite(magnitude.getDouble(0)) || noneIsInfinite(gradients);
    }

    private static boolean noneIsInfinite(INDArray gradients) {
        return Nd4j.getExecutioner()
                        .exec(new MatchCondition(gradients, Conditions.notFinite()))
                        .getLong(0)
                == 0;
    }
}
