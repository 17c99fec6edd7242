package org.dl4jamp.step;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.dl4jamp.engine.OnePassUpdater;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Makes sums of gradients over a minibatch means. What DL4J does in a pass over all gradients is left to the updaters that can do it in theirs, if
 * nothing of DL4J's looks at the means before: no gradient normalization, no L1 or L2 term.
 */
final class MinibatchDivision {
    private final List<OnePassUpdater<?>> updaters = new ArrayList<>();
    private final List<INDArray> gradients = new ArrayList<>();

    /**
     * @param blocks those of a network, with their updaters and views of the network's gradients
     * @param terms what else is done to the gradients of each
     */
    MinibatchDivision(List<UpdaterBlock> blocks, List<UpdaterTerms> terms) {
        for (int i = 0; i < blocks.size(); i++) {
            UpdaterBlock block = blocks.get(i);
            List<UpdaterBlock.ParamState> parameters = block.getLayersAndVariablesInBlock();
            if (block.getGradientUpdater() instanceof OnePassUpdater<?> updater
                    && !block.isPretrainUpdaterBlock()
                    && !terms.get(i).readsMeans()
                    && parameters.stream().allMatch(MinibatchDivision::isDivided)) {
                updaters.add(updater);
            } else if (block.getGradientView() != null && parameters.stream().allMatch(MinibatchDivision::isDivided)) {
                gradients.add(block.getGradientView());
            } else {
                parameters.stream()
                        .filter(MinibatchDivision::isDivided)
                        .map(UpdaterBlock.ParamState::getGradView)
                        .forEach(gradients::add);
            }
        }
    }

    /** Not so for batch normalization's running statistics, which travel as gradients. */
    private static boolean isDivided(UpdaterBlock.ParamState parameter) {
        return parameter.getGradView() != null
                && parameter.getLayer().updaterDivideByMinibatch(parameter.getParamName());
    }

    /**
     * Divides the gradients, or has them divided when the updaters are applied.
     *
     * @param examples the size of the minibatch
     * @return false if that is left to DL4J, whose few passes are as good as they get where no updater divides
     */
    boolean by(int examples) {
        if (updaters.isEmpty()) {
            return false;
        }
        updaters.forEach(updater -> updater.divideNextBy(examples));
        gradients.forEach(gradient -> gradient.divi(examples));
        return true;
    }
}
