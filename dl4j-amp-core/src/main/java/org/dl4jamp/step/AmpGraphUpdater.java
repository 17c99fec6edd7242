package org.dl4jamp.step;

import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.ndarray.INDArray;

/** DL4J's updater of a ComputationGraph, which does nothing in a step that doesn't count. */
public final class AmpGraphUpdater extends ComputationGraphUpdater {
    private static final long serialVersionUID = 1L;

    private final transient AmpUpdate update;

    /**
     * @param state the updater's state, used as it is; null for updaters without
     */
    public AmpGraphUpdater(ComputationGraph graph, INDArray state, TrainingStep step) {
        super(graph, state);
        this.update = step.accelerate(this);
    }

    TrainingStep step() {
        return update.step();
    }

    @Override
    public synchronized void update(
            Gradient gradient, int iteration, int epoch, int batchSize, LayerWorkspaceMgr workspaceMgr) {
        if (update.isOutdated()) {
            update.step().renewUpdater().update(gradient, iteration, epoch, batchSize, workspaceMgr);
            return;
        }
        update.run(
                gradient,
                getFlattenedGradientsView(),
                iteration,
                (own, taken) -> super.update(own, taken, epoch, batchSize, workspaceMgr));
    }

    @Override
    protected void divideByMinibatch(boolean isExternal, Gradient gradient, int batchSize) {
        if (!initializedMinibatchDivision) {
            gradientsForMinibatchDivision = getMinibatchDivisionSubsets(getFlattenedGradientsView());
            initializedMinibatchDivision = true;
        }
        if (!update.divides(isExternal, batchSize)) {
            super.divideByMinibatch(isExternal, gradient, batchSize);
        }
    }
}
