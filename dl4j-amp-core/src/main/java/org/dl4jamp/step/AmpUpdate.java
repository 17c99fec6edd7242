package org.dl4jamp.step;

import org.dl4jamp.dl4j.HookedUpdater;
import org.dl4jamp.dl4j.OptimizerCall;
import org.dl4jamp.dl4j.UpdateSubtraction;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.network.AmpNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What a network's updater does in mixed precision: nothing in a step that doesn't count; what its plan says with gradients in the network's view; and
 * what DL4J does with those of another network.
 */
final class AmpUpdate implements HookedUpdater.Hook {
    private final TrainingStep step;
    private final AmpNetwork network;
    private final HookedUpdater updater;
    private final StepKernels kernels;
    private final INDArray view;
    private final INDArray parameters;
    private final UpdateSubtraction subtraction = new UpdateSubtraction();
    private StepPlan plan;

    /**
     * @param updater a network's
     * @param kernels the engine's
     */
    AmpUpdate(TrainingStep step, AmpNetwork network, HookedUpdater updater, StepKernels kernels) {
        this.step = step;
        this.network = network;
        this.updater = updater;
        this.kernels = kernels;
        view = network.gradients();
        parameters = network.model().params();
        plan = plan();
    }

    private StepPlan plan() {
        return new StepPlan(updater.plain(), view, parameters, kernels);
    }

    TrainingStep step() {
        return step;
    }

    /** Whether the network has another gradient view since, for which updater and its blocks have no use: {@code initGradientsView()} makes one. */
    @SuppressWarnings("ReferenceEquality")
    boolean isOutdated() {
        return network.gradients() != view;
    }

    /** Takes over the optimizer's subtraction, if there is something to gain. */
    void takeSubtraction() {
        UpdateSubtraction.remove(network.model().getOptimizer());
        if (plan.movesParameters()) {
            subtraction.install(network.model().getOptimizer());
        }
    }

    @Override
    public void update(UpdaterCall call) {
        if (isOutdated()) {
            call.hand(step.updater().renew());
            return;
        }
        boolean byOptimizer = OptimizerCall.isInProgress();
        if (!step.admits(call.gradient(), call.iteration(), byOptimizer)) {
            return;
        }
        WorkEvent event = WorkEvent.begin(WorkEvent.UPDATER, "parameters");
        UpdaterCall counted = call.inIteration(step.optimizerIteration());
        if (Memory.isSame(view, call.gradient().gradient())) {
            run(counted, byOptimizer);
        } else {
            updater.updateAsDl4j(counted);
        }
        event.commit();
    }

    private void run(UpdaterCall call, boolean byOptimizer) {
        if (!plan.isUpToDate()) {
            plan = plan();
        }
        boolean subtracts = byOptimizer
                && plan.movesParameters()
                && subtraction.isLeftBy(network.model().getOptimizer())
                && Memory.isSame(parameters, network.model().params());
        float divisor = network.model().conf().isMiniBatch() ? call.examples() : 1;
        plan.run(call, divisor, subtracts);
        if (subtracts) {
            subtraction.forestall();
        }
    }
}
