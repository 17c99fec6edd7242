package org.dl4jamp.step;

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
        return blocks.stream().map(UpdaterTerms::of).toList();
    }

    private static UpdaterTerms of(UpdaterBlock block) {
        boolean normalizes = false;
        boolean addsToGradients = false;
        for (UpdaterBlock.ParamState parameter : block.getLayersAndVariablesInBlock()) {
            TrainingConfig conf = parameter.getLayer().getConfig();
            GradientNormalization normalization = conf.getGradientNormalization();
            normalizes |= normalization != null && normalization != GradientNormalization.None;
            List<Regularization> terms = conf.getRegularizationByParam(parameter.getParamName());
            addsToGradients |= terms != null
                    && terms.stream().anyMatch(term -> term.applyStep() == Regularization.ApplyStep.BEFORE_UPDATER);
        }
        return new UpdaterTerms(normalizes, addsToGradients);
    }

    /** Returns whether something reads the means of the gradients before the updater. */
    boolean readMeans() {
        return normalizes || addsToGradients;
    }
}
