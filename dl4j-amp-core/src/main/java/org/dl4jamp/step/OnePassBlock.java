package org.dl4jamp.step;

import java.util.List;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.regularization.Regularization;

/**
 * A block of DL4J's updater for which the engine has a pass.
 *
 * @param block with its updater, whose state changes
 * @param gradients the block's, in the shape that its updater takes
 * @param divides whether the pass divides the gradients by the minibatch
 */
record OnePassBlock(UpdaterBlock block, INDArray gradients, boolean divides) {
    /** Returns the engine's update of this block in a step. */
    StepKernels.Update update(float divisor, UpdaterCall call) {
        return new StepKernels.Update(
                block.getGradientUpdater(), gradients, divides ? divisor : 1, call.iteration(), call.epoch());
    }

    /** Adds the regularization terms of that moment, as DL4J's block does. */
    void regularize(Regularization.ApplyStep when, UpdaterCall call) {
        IUpdater conf = block.getGradientUpdater().getConfig();
        double rate = conf.hasLearningRate() ? conf.getLearningRate(call.iteration(), call.epoch()) : 1;
        for (UpdaterBlock.ParamState parameter : block.getLayersAndVariablesInBlock()) {
            List<Regularization> regularization =
                    parameter.getLayer().getConfig().getRegularizationByParam(parameter.getParamName());
            if (regularization != null) {
                regularization.stream()
                        .filter(term -> term.applyStep() == when)
                        .forEach(term -> term.apply(
                                parameter.getParamView(),
                                parameter.getGradView(),
                                rate,
                                call.iteration(),
                                call.epoch()));
            }
        }
    }
}
