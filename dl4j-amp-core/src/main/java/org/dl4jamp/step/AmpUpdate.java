package org.dl4jamp.step;

import java.util.List;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.dl4jamp.dl4j.HookedUpdater;
import org.dl4jamp.dl4j.OptimizerCall;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.network.AmpNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;

/** What an updater of DL4J's does in mixed precision: nothing in a step that doesn't count, and some of its passes within those of the engine's updaters. */
final class AmpUpdate implements HookedUpdater.Hook {
    private final TrainingStep step;
    private final AmpNetwork network;
    private final HookedUpdater updater;
    private final INDArray view;
    private final List<UpdaterBlock> blocks;
    private final UpdateSubtraction subtraction;
    private List<UpdaterTerms> terms;
    private MinibatchDivision division;

    /**
     * @param updater a network's, with the engine's updaters in its blocks
     * @param kernels the engine's
     */
    AmpUpdate(TrainingStep step, AmpNetwork network, HookedUpdater updater, StepKernels kernels) {
        this.step = step;
        this.network = network;
        this.updater = updater;
        view = network.gradients();
        blocks = updater.plain().getUpdaterBlocks();
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

    @Override
    public void update(UpdaterCall call) {
        if (isOutdated()) {
            call.hand(step.renewUpdater());
            return;
        }
        boolean byOptimizer = OptimizerCall.isInProgress();
        if (!step.admits(call.gradient(), call.iteration(), byOptimizer)) {
            return;
        }
        List<UpdaterTerms> now = UpdaterTerms.of(blocks);
        if (!now.equals(terms)) {
            plan(now);
        }
        WorkEvent event = WorkEvent.begin(WorkEvent.UPDATER, "parameters");
        Gradient own = OwnGradient.of(view, call.gradient());
        UpdaterCall taken = call.with(own, step.optimizerIteration());
        if (byOptimizer && own.gradient() == view) {
            subtraction.around(() -> updater.updateAsDl4j(taken));
        } else {
            updater.updateAsDl4j(taken);
        }
        event.commit();
    }

    @Override
    public boolean divides(boolean isExternal, int batchSize) {
        return !isExternal && division.by(batchSize);
    }
}
