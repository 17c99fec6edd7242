package org.dl4jamp.dl4j;

import java.util.Map;
import org.nd4j.autodiff.samediff.SDVariable;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.autodiff.util.SameDiffUtils;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The factor of all gradients of DL4J's SameDiff layers and vertices, such as attention. In 1.0.0-M2.1 it is two:
 * SameDiff adds the gradient of their output, which it is given, to itself. Layers that compute in their place have the
 * same factor, so that a network trains alike in any precision.
 */
public final class ExternalErrors {
    private static final double FACTOR = measured();

    private ExternalErrors() {}

    /** Returns 1 if gradients are right. */
    public static double factor() {
        return FACTOR;
    }

    private static double measured() {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            INDArray one = Nd4j.ones(DataType.FLOAT, 1, 1);
            SameDiff identity = SameDiff.create();
            SDVariable input = identity.var("input", one);
            var errors = SameDiffUtils.externalErrors(identity, null, input.mul("output", 1));
            identity.createGradFunction("input");
            return identity.calculateGradients(Map.of(errors.getGradPlaceholderName(), one), "input")
                    .get("input")
                    .getDouble(0);
        }
    }
}
