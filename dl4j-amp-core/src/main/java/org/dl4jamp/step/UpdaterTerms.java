package org.dl4jamp.step;

import java.util.List;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.nd4j.linalg.learning.regularization.Regularization;

/** What DL4J adds to gradients before an updater (L1 and L2) and to updates after it (weight decay). */
final class UpdaterTerms {
    private UpdaterTerms() {}

    /** Whether there is any for a parameter. */
    static boolean has(UpdaterBlock.ParamState parameter, Regularization.ApplyStep when) {
        List<Regularization> terms =
                parameter.getLayer().getConfig().getRegularizationByParam(parameter.getParamName());
        return terms != null && terms.stream().anyMatch(term -> term.applyStep() == when);
    }
}
