package org.dl4jamp.step;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.TrainingConfig;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.gradient.Clipping;
import org.dl4jamp.gradient.GradientParts;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.regularization.Regularization;

/**
 * Makes updates of the gradients in a network's view: DL4J's update, in as few passes over memory as the engine can.
 * Blocks with a pass of the engine are divided by the minibatch within that pass, unless gradient normalization or
 * regularization reads the numbers in between. The rest is divided before, with one operation for each contiguous
 * piece. DL4J's optimizer subtracts. Immutable: when terms or views change, another plan is made.
 */
final class StepPlan {
    /**
     * DL4J's operations on a block's gradients before its updater. Users may change them in the middle of training.
     *
     * @param normalizes whether the gradients of some parameter's layer are normalized or clipped
     * @param addsToGradients whether an L1 or L2 term is added to the gradients of some parameter
     */
    record UpdaterTerms(boolean normalizes, boolean addsToGradients) {
        static List<UpdaterTerms> of(List<UpdaterBlock> blocks) {
            return blocks.stream().map(UpdaterTerms::of).toList();
        }

        private static UpdaterTerms of(UpdaterBlock block) {
            boolean normalizes = false;
            boolean addsToGradients = false;
            for (UpdaterBlock.ParamState parameter : block.getLayersAndVariablesInBlock()) {
                TrainingConfig conf = parameter.getLayer().getConfig();
                GradientNormalization normalization = conf.getGradientNormalization();
                normalizes |= normalization != null && normalization != GradientNormalization.None;
                List<Regularization> terms = conf.getRegularizationByParam(parameter.getParamName());
                addsToGradients |= terms != null
                        && terms.stream().anyMatch(term -> term.applyStep() == Regularization.ApplyStep.BEFORE_UPDATER);
            }
            return new UpdaterTerms(normalizes, addsToGradients);
        }

        /** Returns whether something reads the means of the gradients before the updater. */
        boolean readMeans() {
            return normalizes || addsToGradients;
        }
    }

    /**
     * A block of DL4J's updater for which the engine has a pass, which divides the gradients by the minibatch or not.
     * They are in the shape that its updater takes.
     */
    private record OnePassBlock(UpdaterBlock block, INDArray gradients, boolean divides) {
        /** Returns the engine's update of this block in a step. */
        StepKernels.Update update(float divisor, UpdaterCall call) {
            return new StepKernels.Update(
                    block.getGradientUpdater(), gradients, divides ? divisor : 1, call.iteration(), call.epoch());
        }

        /** Adds the regularization terms of that moment, as DL4J's block does. */
        void regularize(Regularization.ApplyStep when, UpdaterCall call) {
            IUpdater conf = block.getGradientUpdater().getConfig();
            double rate = conf.hasLearningRate() ? conf.getLearningRate(call.iteration(), call.epoch()) : 1;
            for (UpdaterBlock.ParamState parameter : block.getLayersAndVariablesInBlock()) {
                List<Regularization> regularization =
                        parameter.getLayer().getConfig().getRegularizationByParam(parameter.getParamName());
                if (regularization != null) {
                    regularization.stream()
                            .filter(term -> term.applyStep() == when)
                            .forEach(term -> term.apply(
                                    parameter.getParamView(),
                                    parameter.getGradView(),
                                    rate,
                                    call.iteration(),
                                    call.epoch()));
                }
            }
        }
    }

    private final BaseMultiLayerUpdater<?> updater;
    private final List<UpdaterTerms> terms;
    private final StepKernels kernels;
    private final Clipping limits;
    private final List<OnePassBlock> onePass = new ArrayList<>();
    private final List<UpdaterBlock> left = new ArrayList<>();
    private final List<INDArray> sums;
    private final List<INDArray> means;
    private final List<INDArray> updatesOfBatch;

    /** Makes a plan for the terms of now. */
    StepPlan(BaseMultiLayerUpdater<?> updater, INDArray gradients, StepKernels kernels, Clipping limits) {
        this.updater = updater;
        this.kernels = kernels;
        this.limits = limits;
        terms = UpdaterTerms.of(updater.getUpdaterBlocks());
        List<UpdaterBlock> dividedBefore = new ArrayList<>();
        for (int i = 0; i < terms.size(); i++) {
            UpdaterBlock block = updater.getUpdaterBlocks().get(i);
            Optional<OnePassBlock> known = onePass(block, terms.get(i));
            known.ifPresent(onePass::add);
            if (known.isEmpty() && !block.isPretrainUpdaterBlock()) {
                left.add(block);
            }
            if (!known.map(OnePassBlock::divides).orElse(false)) {
                dividedBefore.add(block);
            }
        }
        GradientParts parts = new GradientParts(dividedBefore);
        sums = parts.of(GradientParts.Kind.SUM, gradients);
        means = parts.of(GradientParts.Kind.MEAN, gradients);
        updatesOfBatch = parts.of(GradientParts.Kind.UPDATE_OF_BATCH, gradients);
    }

    private Optional<OnePassBlock> onePass(UpdaterBlock block, UpdaterTerms ofBlock) {
        INDArray gradients = block.getGradientView();
        if (gradients == null || block.isPretrainUpdaterBlock() || !kernels.isOnePass(block.getGradientUpdater())) {
            return Optional.empty();
        }
        boolean divides = !limits.value().isPresent()
                && !ofBlock.readMeans()
                && block.getLayersAndVariablesInBlock().stream()
                        .allMatch(parameter -> GradientParts.Kind.of(parameter) == GradientParts.Kind.SUM);
        return Optional.of(new OnePassBlock(block, gradients, divides));
    }

    /**
     * Returns whether DL4J would still do what the plan was made for: users may change normalization and regularization
     * in the middle of training.
     */
    boolean isUpToDate() {
        return terms.equals(UpdaterTerms.of(updater.getUpdaterBlocks()));
    }

    /**
     * Makes updates of the gradients in the view.
     *
     * @param divisor the divisor that makes means of sums
     * @param factor the factor that brings true gradients within the limit of their norm
     */
    void run(UpdaterCall call, float divisor, double factor) {
        float clipping = (float) (divisor / factor);
        if (clipping != 1) {
            sums.forEach(sum -> sum.divi(clipping));
        }
        if (factor != 1) {
            means.forEach(mean -> mean.muli(factor));
        }
        if (divisor != 1) {
            updatesOfBatch.forEach(update -> update.divi(divisor));
        }
        limits.clipValues(sums);
        limits.clipValues(means);
        if (terms.stream().anyMatch(UpdaterTerms::normalizes)) {
            call.normalizeGradients(updater);
        }
        call.workspaceMgr().assertNotOpen(ArrayType.UPDATER_WORKING_MEM, "Updater working memory");
        regularize(Regularization.ApplyStep.BEFORE_UPDATER, call);
        kernels.applyAll(
                onePass.stream().map(block -> block.update(clipping, call)).toList());
        regularize(Regularization.ApplyStep.POST_UPDATER, call);
        for (UpdaterBlock block : left) {
            inWorkingMemory(call, () -> block.update(call.iteration(), call.epoch()));
        }
    }

    private void regularize(Regularization.ApplyStep when, UpdaterCall call) {
        for (OnePassBlock block : onePass) {
            inWorkingMemory(call, () -> block.regularize(when, call));
        }
    }

    private static void inWorkingMemory(UpdaterCall call, Runnable work) {
        try (MemoryWorkspace scope = call.workspaceMgr().notifyScopeEntered(ArrayType.UPDATER_WORKING_MEM)) {
            work.run();
        }
    }
}
