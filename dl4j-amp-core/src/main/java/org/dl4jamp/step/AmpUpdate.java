package org.dl4jamp.step;

import java.util.function.Consumer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.dl4jamp.dl4j.HookedUpdater;
import org.dl4jamp.dl4j.ParameterGradients;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.gradient.Clipping;
import org.dl4jamp.gradient.GradientParts;
import org.dl4jamp.network.AmpNetwork;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Replaces the update of a network's updater. In a step that doesn't count or isn't complete it does nothing. Gradients
 * in the network's view are updated by its plan, and other gradients by DL4J.
 */
final class AmpUpdate implements Consumer<UpdaterCall> {
    /**
     * The decision that an update is made of the gradients of an effective batch.
     *
     * @param iteration the iteration for DL4J's updater: without those that moved nothing, so that Adam's bias
     *     correction and schedules don't advance
     * @param divisor the divisor that makes means of sums over the examples
     * @param factor the factor that brings the true gradients within the limit of their norm
     */
    record Update(int iteration, float divisor, double factor) {}

    private final TrainingStep step;
    private final AmpNetwork network;
    private final HookedUpdater updater;
    private final StepKernels kernels;
    private final Clipping clipping;
    private final GradientParts.Parted gradients;
    private StepPlan plan;

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
        this.clipping = clipping;
        gradients = parts.of(network.gradients());
        plan = plan();
    }

    private StepPlan plan() {
        return new StepPlan(updater.plain(), gradients.all(), kernels, clipping);
    }

    TrainingStep step() {
        return step;
    }

    GradientParts.Parted gradients() {
        return gradients;
    }

    /**
     * Returns whether the network has another gradient view since, for which updater and its blocks have no use:
     * {@code initGradientsView()} makes one.
     */
    @SuppressWarnings("ReferenceEquality")
    boolean isOutdated() {
        return network.gradients() != gradients.all();
    }

    @Override
    public void accept(UpdaterCall call) {
        leaveClosedWorkspace();
        if (isOutdated()) {
            call.hand(step.updater.renew());
            return;
        }
        INDArray given = call.gradient().gradient();
        boolean own = isSameMemory(gradients.all(), given);
        // No supervised step writes what only pretraining trains, and DL4J subtracts what is left there.
        updater.plain().getUpdaterBlocks().stream()
                .filter(block -> block.isPretrainUpdaterBlock())
                .forEach(block -> block.getGradientView().assign(0));
        GradientParts.Parted parted = own ? gradients : gradients.parts().of(given);
        step.decide(call, parted).ifPresent(update -> {
            WorkEvent event = WorkEvent.begin(WorkEvent.UPDATER, "parameters");
            UpdaterCall counted = call.inIteration(update.iteration());
            if (own) {
                run(counted, update);
            } else {
                clipping.clipBefore(parted, update.divisor(), update.factor());
                updater.updateAsDl4j(counted);
            }
            event.commit();
        });
    }

    /** A stock graph that trains with workspaces and infers without leaves a closed one as the thread's current one. */
    private static void leaveClosedWorkspace() {
        MemoryWorkspace current = Nd4j.getMemoryManager().getCurrentWorkspace();
        if (current != null && !current.isScopeActive()) {
            Nd4j.getMemoryManager().setCurrentWorkspace(null);
        }
    }

    /**
     * Returns whether two arrays without gaps are over the same memory: that in which the backend computes. On CUDA
     * this is the GPU's; {@code DataBuffer.address()} returns its mirror on the host there, which most arrays don't
     * have. A view's address includes its offset there; on the CPU it doesn't, and the offset is compared, too.
     */
    static boolean isSameMemory(INDArray one, INDArray other) {
        return one.data().platformAddress() == other.data().platformAddress()
                && one.offset() == other.offset()
                && one.length() == other.length();
    }

    private void run(UpdaterCall call, Update update) {
        if (!plan.isUpToDate()) {
            plan = plan();
        }
        plan.run(call, update.divisor(), update.factor());
    }

    /** Makes an update of the view for which no optimizer has called, and applies it as one would. */
    void apply(Update update) {
        Model model = network.model();
        UpdaterCall call = new UpdaterCall(
                named(),
                update.iteration(),
                BaseOptimizer.getEpochCount(model),
                // The plan divides by the update's divisor, and its examples may be more than an int holds.
                0,
                LayerWorkspaceMgr.noWorkspaces());
        run(call, update);
        UpdaterCall.apply(model, gradients.all());
    }

    /** Returns the gradients of the view, named as the network names them after a backward pass. */
    private Gradient named() {
        Gradient named = new DefaultGradient(gradients.all());
        updater.plain().getLayersByName().forEach((name, layer) -> ParameterGradients.of(
                        layer, network.model().params(), gradients.all())
                .forEach((parameter, gradient) -> named.setGradientFor(name + "_" + parameter, gradient)));
        return named;
    }
}
