package org.dl4jamp.step;

import java.util.List;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.dl4jamp.dl4j.OptimizerCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.network.AmpNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;

/** What an updater of DL4J's does in mixed precision: nothing in a step that doesn't count, and some of its passes within those of the engine's updaters. */
final class AmpUpdate {
    private final TrainingStep step;
    private final AmpNetwork network;
    private final INDArray view;
    private final List<UpdaterBlock> blocks;
    private final UpdateSubtraction subtraction;
    private List<UpdaterTerms> terms;
    private MinibatchDivision division;

    /**
     * @param updater a network's, with the engine's updaters in its blocks
     * @param kernels the engine's
     */
    AmpUpdate(TrainingStep step, AmpNetwork network, BaseMultiLayerUpdater<?> updater, StepKernels kernels) {
        this.step = step;
        this.network = network;
        view = network.gradients();
        blocks = updater.getUpdaterBlocks();
        subtraction = new UpdateSubtraction(network.model(), blocks, view, kernels);
        plan(UpdaterTerms.of(blocks));
    }

    private void plan(List<UpdaterTerms> now) {
        terms = now;
        division = new MinibatchDivision(blocks, now);
        subtraction.plan(now);
    }

    TrainingStep step() {
        return step;
    }

    /** Whether the network has another gradient view since, for which updater and its blocks have no use: {@code initGradientsView()} makes one. */
    @SuppressWarnings("ReferenceEquality")
    boolean isOutdated() {
        return network.gradients() != view;
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
        boolean byOptimizer = OptimizerCall.isInProgress();
        if (!step.admits(gradient, iteration, byOptimizer)) {
            return;
        }
        List<UpdaterTerms> now = UpdaterTerms.of(blocks);
        if (!now.equals(terms)) {
            plan(now);
        }
        WorkEvent event = WorkEvent.begin(WorkEvent.UPDATER, "parameters");
        Gradient own = OwnGradient.of(view, gradient);
        int taken = step.optimizerIteration();
        if (byOptimizer && own.gradient() == view) {
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
