package org.dl4jamp.step;

import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.dl4jamp.engine.StepKernels;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.regularization.Regularization;

/** A block of an updater of DL4J's that can put its update off until those of all blocks are computed in one pass. */
final class PostponedBlock extends UpdaterBlock {
    private final PostponedUpdates postponed;
    private final INDArray gradients;
    private boolean isLeftToUpdater;

    /**
     * @param plain whose place it takes, with its gradients and updater
     * @param postponed takes updates that are put off
     */
    PostponedBlock(UpdaterBlock plain, PostponedUpdates postponed) {
        super(
                plain.getParamOffsetStart(),
                plain.getParamOffsetEnd(),
                plain.getUpdaterViewOffsetStart(),
                plain.getUpdaterViewOffsetEnd(),
                plain.getLayersAndVariablesInBlock());
        setUpdaterView(plain.getUpdaterView());
        setUpdaterViewRequiresInitialization(plain.isUpdaterViewRequiresInitialization());
        setGradientView(plain.getGradientView());
        setGradientUpdater(plain.getGradientUpdater());
        this.postponed = postponed;
        this.gradients = plain.getGradientView().reshape(plain.getGradientView().length());
    }

    /** Sets whether nothing is added to the updates, so that the updater may move the parameters. */
    void setLeftToUpdater(boolean left) {
        isLeftToUpdater = left;
    }

    boolean isLeftToUpdater() {
        return isLeftToUpdater;
    }

    @Override
    public void update(int iteration, int epoch) {
        if (!isLeftToUpdater || !postponed.isOpen()) {
            super.update(iteration, epoch);
            return;
        }
        applyRegularizationAllVariables(
                Regularization.ApplyStep.BEFORE_UPDATER, iteration, epoch, false, getGradientView(), null);
        postponed.add(new StepKernels.Update(getGradientUpdater(), gradients, iteration, epoch));
    }
}
