package org.dl4jamp.layer;

import java.util.function.Function;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.twin.Casting;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Runs a twin with HALF gradients backward where the loss isn't scaled. It has a scale of its own, chosen by the
 * largest gradient, and a lower one if the resulting gradients are too large for it.
 */
final class TwinScale {
    /** Exponent that the largest gradient is scaled to: FP16 has 2<sup>12</sup> above it and 2<sup>28</sup> below. */
    private static final int EXPONENT = 4;

    private static final int STEP = 8;

    /** Dropout behind the twin may enlarge what comes out. */
    private static final double LARGEST = 1024;

    /** Below, HALF has no digits. */
    private static final int SMALLEST = -24;

    /** Gradients of parameters and of the input, times a scale, which is a power of two. */
    record Scaled(Pair<Gradient, INDArray> result, double scale) {}

    private TwinScale() {}

    /**
     * Runs a twin on a multiple, in HALF, of the gradient of its output, which is FLOAT. The manager has the working
     * memory of the backward pass.
     */
    static Scaled run(
            INDArray epsilon, LayerWorkspaceMgr workspaceMgr, Function<INDArray, Pair<Gradient, INDArray>> twin) {
        double largest = epsilon.amaxNumber().doubleValue();
        int exponent = largest > 0 && Double.isFinite(largest) ? EXPONENT - Math.getExponent(largest) : 0;
        while (true) {
            double scale = Math.scalb(1.0, exponent);
            Pair<Gradient, INDArray> result = twin.apply(scaled(epsilon, scale, workspaceMgr));
            boolean fits = result.getSecond() == null
                    || result.getSecond().amaxNumber().doubleValue() <= LARGEST;
            exponent -= STEP;
            if (fits || Math.scalb(largest, exponent) < Math.scalb(1.0, SMALLEST) || !Double.isFinite(largest)) {
                return new Scaled(result, scale);
            }
        }
    }

    /** Returns a multiple of an array, rounded once. */
    private static INDArray scaled(INDArray array, double scale, LayerWorkspaceMgr workspaceMgr) {
        LayerWorkspaceMgr known = workspaceMgr.hasConfiguration(ArrayType.BP_WORKING_MEM)
                ? workspaceMgr
                : LayerWorkspaceMgr.noWorkspaces();
        INDArray multiple =
                known.createUninitialized(ArrayType.BP_WORKING_MEM, array.dataType(), array.shape(), array.ordering());
        array.muli(scale, multiple);
        return Casting.ND4J.cast(multiple, DataType.HALF, workspaceMgr, ArrayType.BP_WORKING_MEM);
    }
}
