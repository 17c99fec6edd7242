package org.dl4jamp.dl4j;

import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.deeplearning4j.optimize.api.StepFunction;
import org.deeplearning4j.optimize.solvers.StochasticGradientDescent;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.deeplearning4j.optimize.solvers.accumulation.IndexedTail;
import org.deeplearning4j.optimize.stepfunctions.NegativeGradientStepFunction;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The subtraction of updates from parameters, which DL4J's optimizer makes in a pass over all of them when its updater has returned, taken from it: whoever makes
 * the updates may have subtracted them already. It accumulates nothing: a GradientsAccumulator is what DL4J's optimizer leaves its subtraction to.
 */
public final class UpdateSubtraction implements GradientsAccumulator {
    private static final long serialVersionUID = 1L;

    private transient boolean forestalled;

    /** Takes over an optimizer's subtraction, if it's DL4J's plain one and nobody else has. */
    public void install(ConvexOptimizer optimizer) {
        if (optimizer.getGradientsAccumulator() == null
                && optimizer instanceof StochasticGradientDescent descent
                && descent.getStepFunction().getClass() == NegativeGradientStepFunction.class) {
            optimizer.setGradientsAccumulator(this);
        }
    }

    /** Gives an optimizer its subtraction back. */
    public static void remove(ConvexOptimizer optimizer) {
        if (optimizer.getGradientsAccumulator() instanceof UpdateSubtraction) {
            optimizer.setGradientsAccumulator(null);
        }
    }

    /** Whether an optimizer leaves its subtraction to this object. */
    public boolean isLeftBy(ConvexOptimizer optimizer) {
        return optimizer.getGradientsAccumulator() == this;
    }

    /** Says that the updates that an optimizer waits for are subtracted already. */
    public void forestall() {
        forestalled = true;
    }

    @Override
    public void applyUpdate(StepFunction function, INDArray params, INDArray updates, boolean isFinalStep) {
        if (!forestalled) {
            function.step(params, updates);
        }
        forestalled = false;
    }

    @Override
    public void applyUpdate(StepFunction function, INDArray params, INDArray updates, double alpha) {
        function.step(params, updates, alpha);
    }

    @Override
    public boolean hasAnything() {
        return false;
    }

    @Override
    public void storeUpdate(INDArray array, int iterationNumber, int epochNumber) {}

    @Override
    public void receiveUpdate(INDArray array) {
        throw new UnsupportedOperationException(
                "Updates from elsewhere: set an accumulator that takes them with setGradientsAccumulator");
    }

    @Override
    public void setExternalSource(IndexedTail source) {
        throw new UnsupportedOperationException(
                "Updates from elsewhere: set an accumulator that takes them with setGradientsAccumulator");
    }

    @Override
    public IndexedTail getExternalSource() {
        return null;
    }

    @Override
    public void markExternalUpdates(boolean updatesAvailable) {}

    @Override
    public void reset() {}

    @Override
    public void touch() {}
}
