package org.dl4jamp.step;

import java.util.IdentityHashMap;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.dl4jamp.dl4j.HookedUpdater;
import org.dl4jamp.dl4j.OptimizerCall;
import org.dl4jamp.dl4j.OptimizerStep;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.gradient.Clipping;
import org.dl4jamp.gradient.EffectiveBatch;
import org.dl4jamp.gradient.GradientParts;
import org.dl4jamp.network.AmpNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Replaces the update of a network's updater. In a step that doesn't count or isn't complete it does nothing. Gradients
 * in the network's view are updated by its plan, and other gradients by DL4J.
 */
final class AmpUpdate implements HookedUpdater.Hook {
    private final TrainingStep step;
    private final AmpNetwork network;
    private final HookedUpdater updater;
    private final StepKernels kernels;
    private final INDArray view;
    private final Clipping clipping;
    private final GradientParts parts;
    private final GradientParts.Parted gradients;
    private StepPlan plan;

    /**
     * @param updater a network's
     * @param parts parts of its gradients
     * @param kernels the engine's
     * @param clipping limits of the network's gradients
     */
    AmpUpdate(
            TrainingStep step,
            AmpNetwork network,
            HookedUpdater updater,
            GradientParts parts,
            StepKernels kernels,
            Clipping clipping) {
        this.step = step;
        this.network = network;
        this.updater = updater;
        this.kernels = kernels;
        view = network.gradients();
        this.clipping = clipping;
        this.parts = parts;
        gradients = parts.of(view);
        plan = plan();
    }

    private StepPlan plan() {
        return new StepPlan(updater.plain(), view, kernels, clipping);
    }

    TrainingStep step() {
        return step;
    }

    /**
     * Returns whether the network has another gradient view since, for which updater and its blocks have no use:
     * {@code initGradientsView()} makes one.
     */
    @SuppressWarnings("ReferenceEquality")
    boolean isOutdated() {
        return network.gradients() != view;
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
            return;
        }
        WorkEvent event = WorkEvent.begin(WorkEvent.UPDATER, "parameters");
        UpdaterCall counted = call.inIteration(step.optimizerIteration());
        float divisor = step.divisor(batch.get().examples());
        if (own) {
            run(counted, divisor, batch.get());
        } else {
            clipping.clipBefore(given, divisor, batch.get().norm());
            updater.updateAsDl4j(counted);
        }
        event.commit();
    }

    private void run(UpdaterCall call, float divisor, EffectiveBatch batch) {
        if (!plan.isUpToDate()) {
            plan = plan();
        }
        plan.run(call, divisor, clipping.factor(batch.norm()));
    }

    /** Takes the step of a group that isn't complete, for which no optimizer has called. */
    void applyGroup() {
        Optional<EffectiveBatch> batch = step.endEarly(parts, gradients);
        if (batch.isEmpty()) {
            return;
        }
        Model model = network.model();
        int epoch = BaseOptimizer.getEpochCount(model);
        UpdaterCall call = new UpdaterCall(
                named(),
                step.optimizerIteration(),
                epoch,
                (int) batch.get().examples(),
                LayerWorkspaceMgr.noWorkspaces());
        run(call, step.divisor(batch.get().examples()), batch.get());
        OptimizerStep.take(model, view);
    }

    /** Returns the gradients of the view, named as the network names them after a backward pass. */
    private Gradient named() {
        IdentityHashMap<Trainable, String> names = new IdentityHashMap<>();
        updater.plain().getLayersByName().forEach((name, layer) -> names.put(layer, name));
        Gradient named = new DefaultGradient(view);
        for (UpdaterBlock block : updater.plain().getUpdaterBlocks()) {
            for (UpdaterBlock.ParamState parameter : block.getLayersAndVariablesInBlock()) {
                if (parameter.getGradView() != null) {
                    String layer = names.get(parameter.getLayer());
                    named.setGradientFor(layer + "_" + parameter.getParamName(), parameter.getGradView());
                }
            }
        }
        return named;
    }
}
