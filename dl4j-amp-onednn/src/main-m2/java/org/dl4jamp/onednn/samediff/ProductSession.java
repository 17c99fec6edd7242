package org.dl4jamp.onednn.samediff;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.dl4jamp.onednn.primitive.MatrixProducts;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.autodiff.functions.DifferentialFunction;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.autodiff.samediff.config.ExecutionResult;
import org.nd4j.autodiff.samediff.config.SDValue;
import org.nd4j.autodiff.samediff.internal.FrameIter;
import org.nd4j.autodiff.samediff.internal.InferenceSession;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.OpContext;
import org.nd4j.linalg.api.ops.impl.reduce.Mmul;
import org.nd4j.linalg.api.ops.impl.reduce.MmulBp;
import org.nd4j.linalg.api.ops.impl.transforms.custom.XwPlusB;

/**
 * Runs the operations of a SameDiff graph as ND4J's session does, and products of FP32 matrices with oneDNN: those of
 * {@code mmul}, of its gradients, and of {@code linear}. Arrays are the session's own.
 */
final class ProductSession extends InferenceSession {
    private final OneDnnContext context;

    ProductSession(SameDiff graph, OneDnnContext context) {
        super(graph);
        this.context = context;
    }

    @Override
    public ExecutionResult doExec(
            DifferentialFunction op,
            OpContext arrays,
            FrameIter outputFrame,
            Set<VarId> inputs,
            Set<VarId> inputsOfAllIterations,
            Set<String> constants,
            Map<String, SDValue> otherPlaceholders) {
        return isDone(op, arrays)
                ? ExecutionResult.createFrom(op, arrays)
                : super.doExec(op, arrays, outputFrame, inputs, inputsOfAllIterations, constants, otherPlaceholders);
    }

    private boolean isDone(DifferentialFunction op, OpContext arrays) {
        if (op.getClass() == Mmul.class) {
            return multiply(arrays);
        }
        if (op.getClass() == MmulBp.class) {
            return multiplyBackward(arrays);
        }
        return op.getClass() == XwPlusB.class && multiplyAndAdd(arrays);
    }

    /** Arguments of {@code matmul}: whether left, right and result are transposed, and two factors. */
    private boolean multiply(OpContext arrays) {
        List<Double> factors = arrays.getTArguments();
        boolean plain = factors.isEmpty() || factors.equals(List.of(1.0, 0.0));
        return plain
                && multiply(
                        turned(arrays.getInputArray(0), isSet(arrays, 0)),
                        turned(arrays.getInputArray(1), isSet(arrays, 1)),
                        turned(arrays.getOutputArray(0), isSet(arrays, 2)));
    }

    private boolean multiplyBackward(OpContext arrays) {
        INDArray left = turned(arrays.getInputArray(0), isSet(arrays, 0));
        INDArray right = turned(arrays.getInputArray(1), isSet(arrays, 1));
        INDArray epsilon = arrays.getInputArray(2);
        INDArray leftGradient = turned(arrays.getOutputArray(0), isSet(arrays, 0));
        INDArray rightGradient = turned(arrays.getOutputArray(1), isSet(arrays, 1));
        return !isSet(arrays, 2)
                && fit(epsilon, turned(right, true), leftGradient)
                && fit(turned(left, true), epsilon, rightGradient)
                && multiply(epsilon, turned(right, true), leftGradient)
                && multiply(turned(left, true), epsilon, rightGradient);
    }

    private boolean multiplyAndAdd(OpContext arrays) {
        INDArray bias = arrays.getInputArray(2);
        INDArray target = arrays.getOutputArray(0);
        if (arrays.numIArguments() > 0
                || bias.dataType() != DataType.FLOAT
                || bias.length() != target.size(-1)
                || !multiply(arrays.getInputArray(0), arrays.getInputArray(1), target)) {
            return false;
        }
        target.addiRowVector(bias.reshape(1, bias.length()));
        return true;
    }

    private static boolean isSet(OpContext arrays, int argument) {
        return arrays.numIArguments() > argument && arrays.getIArguments().get(argument) != 0;
    }

    /** Returns a view of a matrix, or of several, with rows and columns exchanged. */
    private static INDArray turned(INDArray array, boolean turns) {
        int rank = array.rank();
        if (!turns || rank < 2) {
            return array;
        }
        int[] axes = new int[rank];
        for (int axis = 0; axis < rank - 2; axis++) {
            axes[axis] = axis;
        }
        axes[rank - 2] = rank - 1;
        axes[rank - 1] = rank - 2;
        return array.permute(axes);
    }

    private boolean multiply(INDArray left, INDArray right, INDArray target) {
        if (!fit(left, right, target)) {
            return false;
        }
        context.products().multiply(left, right, target);
        return true;
    }

    /** Returns whether oneDNN multiplies arrays: ND4J broadcasts, refuses, and computes in other types. */
    private static boolean fit(INDArray left, INDArray right, INDArray target) {
        return target.dataType() == DataType.FLOAT && MatrixProducts.fit(left, right, target);
    }
}
