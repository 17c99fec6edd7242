package org.dl4jamp.step;

import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.network.AmpNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;

/** What an updater of DL4J's does in mixed precision: nothing in a step that doesn't count, and some of its passes within those of the engine's updaters. */
final class AmpUpdate {
    private final TrainingStep step;
    private final MinibatchDivision division;
    private final UpdateSubtraction subtraction;

    /**
     * @param updater a network's, with the engine's updaters in its blocks
     * @param kernels the engine's
     */
    AmpUpdate(TrainingStep step, AmpNetwork network, BaseMultiLayerUpdater<?> updater, StepKernels kernels) {
        this.step = step;
        division = new MinibatchDivision(updater.getUpdaterBlocks());
        subtraction = new UpdateSubtraction(network.model(), updater.getUpdaterBlocks(), network.gradients(), kernels);
    }

    UpdateSubtraction subtraction() {
        return subtraction;
    }

    /** DL4J's update. */
    interface Plain {
        /**
         * Makes updates of gradients.
         *
         * @param iteration how many steps were taken before
         */
        void run(Gradient gradient, int iteration);
    }

    /**
     * One update.
     *
     * @param view the network's gradient view
     */
    void run(Gradient gradient, INDArray view, int iteration, Plain plain) {
        if (!step.admits(gradient, iteration)) {
            return;
        }
        WorkEvent event = WorkEvent.begin(WorkEvent.UPDATER, "parameters");
        Gradient own = OwnGradient.of(view, gradient);
        int taken = step.optimizerSteps(iteration);
        if (own.gradient() == view) {
            subtraction.around(() -> plain.run(own, taken));
        } else {
            plain.run(own, taken);
        }
        event.commit();
    }

    /**
     * Divides the gradients by the size of the minibatch, or has them divided when the updaters are applied.
     *
     * @return false if that is left to DL4J
     */
    boolean divides(boolean isExternal, int batchSize) {
        return !isExternal && division.by(batchSize);
    }
}
