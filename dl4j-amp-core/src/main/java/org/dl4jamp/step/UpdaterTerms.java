package org.dl4jamp.step;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.TrainingConfig;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.nd4j.linalg.learning.regularization.Regularization;

/**
 * DL4J's operations on a block's gradients before its updater. Users may change them in the middle of training.
 *
 * @param normalizes whether the gradients of some parameter's layer are normalized or clipped
 * @param addsToGradients whether an L1 or L2 term is added to the gradients of some parameter
 */
record UpdaterTerms(boolean normalizes, boolean addsToGradients) {
    /** Returns those of each block. */
    static List<UpdaterTerms> of(List<UpdaterBlock> blocks) {
        List<UpdaterTerms> terms = new ArrayList<>(blocks.size());
        for (UpdaterBlock block : blocks) {
            boolean normalizes = false;
            boolean addsToGradients = false;
            for (UpdaterBlock.ParamState parameter : block.getLayersAndVariablesInBlock()) {
                TrainingConfig conf = parameter.getLayer().getConfig();
                GradientNormalization normalization = conf.getGradientNormalization();
                normalizes |= normalization != null && normalization != GradientNormalization.None;
                List<Regularization> regularization = conf.getRegularizationByParam(parameter.getParamName());
                if (regularization != null) {
                    for (Regularization term : regularization) {
                        addsToGradients |= term.applyStep() == Regularization.ApplyStep.BEFORE_UPDATER;
                    }
                }
            }
            terms.add(new UpdaterTerms(normalizes, addsToGradients));
        }
        return terms;
    }

    /** Returns whether something reads the means of the gradients before the updater. */
    boolean readMeans() {
        return normalizes || addsToGradients;
    }
}
