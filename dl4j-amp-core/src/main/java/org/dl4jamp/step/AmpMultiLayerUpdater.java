package org.dl4jamp.step;

import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.MultiLayerUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.WorkEvent;
import org.nd4j.linalg.api.ndarray.INDArray;

/** DL4J's updater of a MultiLayerNetwork, which does nothing in a step that doesn't count. */
public final class AmpMultiLayerUpdater extends MultiLayerUpdater {
    private static final long serialVersionUID = 1L;

    private final transient TrainingStep step;
    private final transient MinibatchDivision division;

    /**
     * @param state the updater's state, used as it is; null for updaters without
     */
    public AmpMultiLayerUpdater(MultiLayerNetwork network, INDArray state, TrainingStep step) {
        super(network, state);
        this.step = step;
        step.accelerate(this);
        this.division = new MinibatchDivision(getUpdaterBlocks());
    }

    @Override
    public synchronized void update(
            Gradient gradient, int iteration, int epoch, int batchSize, LayerWorkspaceMgr workspaceMgr) {
        if (step.admits(gradient, iteration)) {
            WorkEvent event = WorkEvent.begin(WorkEvent.UPDATER, "parameters");
            Gradient own = OwnGradient.of(getFlattenedGradientsView(), gradient);
            super.update(own, step.optimizerSteps(iteration), epoch, batchSize, workspaceMgr);
            event.commit();
        }
    }

    @Override
    protected void divideByMinibatch(boolean isExternal, Gradient gradient, int batchSize) {
        if (isExternal || !division.by(batchSize)) {
            super.divideByMinibatch(isExternal, gradient, batchSize);
        }
    }
}
