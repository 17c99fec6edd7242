package org.dl4jamp.dl4j;

import java.util.function.Function;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.ndarray.INDArray;

/** DL4J's updater of a ComputationGraph, which leaves what it's called for to a hook. */
public final class AmpGraphUpdater extends ComputationGraphUpdater implements HookedUpdater {
    private static final long serialVersionUID = 1L;

    private final transient Hook hook;

    /**
     * @param state the updater's state, used as it is; null for updaters without
     * @param hook makes the hook of this updater
     */
    public AmpGraphUpdater(ComputationGraph graph, INDArray state, Function<HookedUpdater, Hook> hook) {
        super(graph, state);
        this.hook = hook.apply(this);
        // DL4J makes it when it first divides by the minibatch, which may be the hook's doing.
        gradientsForMinibatchDivision = getMinibatchDivisionSubsets(getFlattenedGradientsView());
        initializedMinibatchDivision = true;
    }

    @Override
    public Hook hook() {
        return hook;
    }

    @Override
    public void updateAsDl4j(UpdaterCall call) {
        super.update(call.gradient(), call.iteration(), call.epoch(), call.examples(), call.workspaceMgr());
    }

    @Override
    public synchronized void update(
            Gradient gradient, int iteration, int epoch, int batchSize, LayerWorkspaceMgr workspaceMgr) {
        hook.update(new UpdaterCall(gradient, iteration, epoch, batchSize, workspaceMgr));
    }
}
