package org.dl4jamp.engine;

import java.util.ArrayList;
import java.util.List;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.reduce.floating.Norm1;
import org.nd4j.linalg.api.ops.impl.reduce.floating.Norm2;
import org.nd4j.linalg.api.ops.impl.reduce.longer.MatchCondition;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.indexing.conditions.Conditions;

/**
 * Sums magnitudes or squares of gradients, and sees by the sum whether they are finite: one reduction and a few numbers
 * read by the host, unless they aren't.
 */
final class Nd4jStepKernels implements StepKernels {
    /** Numbers per row that ND4J sums in FP32, which loses digits of long sums. */
    private static final int ROW = 4096;

    /** Below this, squares may be below FP32's range. */
    private static final double SMALL = 1e-12;

    private final INDArray magnitude;
    private final List<INDArray> norms = new ArrayList<>();

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
        return Double.isFinite(magnitude.getDouble(0))
                || Nd4j.getExecutioner()
                                .exec(new MatchCondition(gradients, Conditions.notFinite()))
                                .getLong(0)
                        == 0;
    }

    @Override
    public double norm2(List<INDArray> gradients) {
        int used = 0;
        // All before the first is read: on a GPU to read is to wait.
        for (INDArray array : gradients) {
            long rows = array.length() / ROW;
            if (rows > 0) {
                INDArray head = array.get(NDArrayIndex.interval(0, rows * ROW)).reshape(rows, ROW);
                Nd4j.getExecutioner().exec(new Norm2(head, norms(used++, rows), 1));
            }
            if (rows * ROW < array.length()) {
                INDArray tail = array.get(NDArrayIndex.interval(rows * ROW, array.length()));
                Nd4j.getExecutioner().exec(new Norm2(tail, norms(used++, 1), 0));
            }
        }
        double squares = 0;
        for (INDArray of : norms.subList(0, used)) {
            for (double norm : of.toDoubleVector()) {
                squares += norm * norm;
            }
        }
        double norm = Math.sqrt(squares);
        return Double.isFinite(norm) && norm > SMALL ? norm : inDoublePrecision(gradients);
    }

    private INDArray norms(int place, long length) {
        if (place == norms.size()) {
            norms.add(null);
        }
        INDArray present = norms.get(place);
        if (present == null || present.length() != length) {
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                present = Nd4j.createUninitialized(DataType.FLOAT, length);
            }
            norms.set(place, present);
        }
        return present;
    }

    /** Squares of finite FP32 numbers may be too large, or too small, for FP32. */
    private static double inDoublePrecision(List<INDArray> arrays) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            double squares = 0;
            for (INDArray array : arrays) {
                double norm = array.castTo(DataType.DOUBLE).norm2Number().doubleValue();
                squares += norm * norm;
            }
            return Math.sqrt(squares);
        }
    }
}
