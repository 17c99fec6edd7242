package org.dl4jamp.dl4j;

import java.util.HashMap;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.deeplearning4j.optimize.api.StepFunction;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A call of a network's updater.
 *
 * @param gradient the gradients, which become updates in place
 * @param iteration number of steps before
 * @param epoch number of epochs before
 * @param examples the size of the minibatch
 * @param workspaceMgr workspaces for the updater
 */
public record UpdaterCall(Gradient gradient, int iteration, int epoch, int examples, LayerWorkspaceMgr workspaceMgr) {
    /** Calls another updater with the same. */
    public void hand(BaseMultiLayerUpdater<?> updater) {
        updater.update(gradient, iteration, epoch, examples, workspaceMgr);
    }

    /**
     * Normalizes or clips the gradients in place, for the layers that are configured so, as DL4J's updater does before
     * it applies updaters. DL4J's method for it takes the gradients of one layer, by the names of parameters in that
     * layer. In a network's gradients the layer's name stands before an underscore.
     *
     * @param updater a network's
     */
    public void normalizeGradients(BaseMultiLayerUpdater<?> updater) {
        Map<String, Gradient> ofLayers = new HashMap<>();
        gradient.gradientForVariable().forEach((name, array) -> {
            int end = name.lastIndexOf('_');
            ofLayers.computeIfAbsent(name.substring(0, end), layer -> new DefaultGradient())
                    .setGradientFor(name.substring(end + 1), array);
        });
        ofLayers.forEach(
                (name, ofLayer) -> updater.preApply(updater.getLayersByName().get(name), ofLayer, iteration));
    }

    /** Returns the same call in an iteration that was counted elsewhere. */
    public UpdaterCall inIteration(int counted) {
        return new UpdaterCall(gradient, counted, epoch, examples, workspaceMgr);
    }

    /**
     * Moves a network's parameters by updates that no optimizer has called for. It goes through the optimizer's
     * {@code GradientsAccumulator}, if there is one, by its step function, and within the layers' constraints.
     *
     * @param updates as many as the network has parameters
     */
    public static void apply(Model network, INDArray updates) {
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
