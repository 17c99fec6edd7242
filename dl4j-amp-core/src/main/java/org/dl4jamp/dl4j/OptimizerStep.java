package org.dl4jamp.dl4j;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.deeplearning4j.optimize.api.StepFunction;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The part of DL4J's optimizer that applies updates when its updater has returned, for updates that no optimizer has
 * called for.
 */
public final class OptimizerStep {
    private OptimizerStep() {}

    /**
     * Moves a network's parameters as its optimizer would: through its {@code GradientsAccumulator}, if it has one, by
     * its step function, and within its layers' constraints.
     *
     * @param updates as many as the network has parameters
     */
    public static void take(Model network, INDArray updates) {
        ConvexOptimizer optimizer = network.getOptimizer();
        StepFunction function = ((BaseOptimizer) optimizer).getStepFunction();
        GradientsAccumulator accumulator = optimizer.getGradientsAccumulator();
        INDArray parameters = network.params();
        INDArray flat = updates.reshape(updates.length());
        if (accumulator == null) {
            function.step(parameters, flat);
        } else {
            // The iteration of the last gradients, which is over.
            int iteration = Math.max(0, BaseOptimizer.getIterationCount(network) - 1);
            accumulator.storeUpdate(flat, iteration, BaseOptimizer.getEpochCount(network));
            accumulator.applyUpdate(function, parameters, flat, true);
        }
        network.setParams(parameters);
        BaseOptimizer.applyConstraints(network);
    }
}
