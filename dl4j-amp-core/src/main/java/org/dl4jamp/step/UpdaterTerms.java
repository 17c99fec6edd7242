package org.dl4jamp.step;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.TrainingConfig;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.nd4j.linalg.learning.regularization.Regularization;

/**
 * What DL4J does to a block's gradients before its updater and to the updates after it. Users may change it in the middle of training.
 *
 * @param readsMeans whether gradient normalization, L1 or L2 look at the gradients of some parameter before the updater
 * @param addsToUpdates whether weight decay is added to the updates of some parameter
 */
record UpdaterTerms(boolean readsMeans, boolean addsToUpdates) {
    /** Those of each block. */
    static List<UpdaterTerms> of(List<UpdaterBlock> blocks) {
        List<UpdaterTerms> terms = new ArrayList<>(blocks.size());
        for (UpdaterBlock block : blocks) {
            boolean readsMeans = false;
            boolean addsToUpdates = false;
            for (UpdaterBlock.ParamState parameter : block.getLayersAndVariablesInBlock()) {
                TrainingConfig conf = parameter.getLayer().getConfig();
                GradientNormalization normalization = conf.getGradientNormalization();
                readsMeans |= normalization != null && normalization != GradientNormalization.None;
                List<Regularization> regularization = conf.getRegularizationByParam(parameter.getParamName());
                if (regularization != null) {
                    for (Regularization term : regularization) {
                        boolean before = term.applyStep() == Regularization.ApplyStep.BEFORE_UPDATER;
                        readsMeans |= before;
                        addsToUpdates |= !before;
                    }
                }
            }
            terms.add(new UpdaterTerms(readsMeans, addsToUpdates));
        }
        return terms;
    }
}
