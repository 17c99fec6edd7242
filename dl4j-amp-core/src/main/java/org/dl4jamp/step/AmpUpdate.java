package org.dl4jamp.step;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.dl4jamp.dl4j.HookedUpdater;
import org.dl4jamp.dl4j.OptimizerCall;
import org.dl4jamp.dl4j.UpdateSubtraction;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.network.AmpNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What a network's updater does in mixed precision: nothing in a step that doesn't count or isn't complete; what its plan says with gradients in the network's view; and
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
    private final Clipping clipping;
    private final GradientParts parts;
    private final GradientParts.Parted gradients;
    private final List<INDArray> statistics;
    private StepPlan plan;

    /**
     * @param updater a network's
     * @param kernels the engine's
     * @param clipping limits of the network's gradients
     */
    AmpUpdate(TrainingStep step, AmpNetwork network, HookedUpdater updater, StepKernels kernels, Clipping clipping) {
        this.step = step;
        this.network = network;
        this.updater = updater;
        this.kernels = kernels;
        view = network.gradients();
        parameters = network.model().params();
        this.clipping = clipping;
        parts = new GradientParts(updater.plain());
        gradients = parts.of(view);
        statistics = parts.of(parameters).updates();
        plan = plan();
    }

    private StepPlan plan() {
        return new StepPlan(updater.plain(), view, parameters, kernels, clipping);
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
        boolean own = Memory.isSame(view, call.gradient().gradient());
        GradientParts.Parted given = own ? gradients : parts.of(call.gradient().gradient());
        Optional<EffectiveBatch> batch = step.decide(call, parts, given, byOptimizer);
        if (batch.isEmpty()) {
            if (own && byOptimizer) {
                subtractStatistics();
            }
            return;
        }
        WorkEvent event = WorkEvent.begin(WorkEvent.UPDATER, "parameters");
        UpdaterCall counted = call.inIteration(step.optimizerIteration());
        float divisor = step.divisor(batch.get().examples());
        if (own) {
            run(counted, clipping.divisor(divisor, batch.get().norm()), byOptimizer);
        } else {
            clipping.clipSums(given.sums(), divisor, batch.get().norm());
            updater.updateAsDl4j(counted);
        }
        event.commit();
    }

    /** Where nothing is learned zeros needn't be subtracted from all parameters, and what is an update already is soon done. */
    private void subtractStatistics() {
        if (mayMoveParameters()) {
            for (int i = 0; i < statistics.size(); i++) {
                statistics.get(i).subi(gradients.updates().get(i));
            }
            subtraction.forestall();
        }
    }

    /** Whether the optimizer that waits leaves its subtraction to this object. */
    private boolean mayMoveParameters() {
        return subtraction.isLeftBy(network.model().getOptimizer())
                && Memory.isSame(parameters, network.model().params());
    }

    private void run(UpdaterCall call, float divisor, boolean byOptimizer) {
        if (!plan.isUpToDate()) {
            plan = plan();
        }
        boolean subtracts = byOptimizer && plan.movesParameters() && mayMoveParameters();
        plan.run(call, divisor, subtracts);
        if (subtracts) {
            subtraction.forestall();
        }
    }

    /** Takes the step of a group that isn't complete, for which no optimizer has called. */
    void applyGroup() {
        Optional<EffectiveBatch> batch = step.endEarly(parts, gradients);
        if (batch.isEmpty()) {
            return;
        }
        if (!plan.isUpToDate()) {
            plan = plan();
        }
        Model model = network.model();
        int epoch = BaseOptimizer.getEpochCount(model);
        UpdaterCall call = new UpdaterCall(
                named(),
                step.optimizerIteration(),
                epoch,
                (int) batch.get().examples(),
                LayerWorkspaceMgr.noWorkspaces());
        plan.run(
                call,
                clipping.divisor(
                        step.divisor(batch.get().examples()), batch.get().norm()),
                true);
        BaseOptimizer.applyConstraints(model);
    }

    /** The gradients of the view by name, as the network has them after a backward pass. */
    private Gradient named() {
        Gradient named = new DefaultGradient(view);
        for (UpdaterBlock block : updater.plain().getUpdaterBlocks()) {
            for (UpdaterBlock.ParamState parameter : block.getLayersAndVariablesInBlock()) {
                if (parameter.getGradView() != null) {
                    String layer = parameter.getLayer().getConfig().getLayerName();
                    named.setGradientFor(layer + "_" + parameter.getParamName(), parameter.getGradView());
                }
            }
        }
        return named;
    }
}
