package org.dl4jamp.step;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.dl4jamp.dl4j.GradientNormalizations;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.regularization.Regularization;

/**
 * How the gradients in a network's view become updates, and these leave the parameters: DL4J's update, in as few passes over memory as the engine can. What
 * the engine has a pass for is divided by the minibatch and subtracted within that pass, unless gradient normalization or regularization looks at the
 * numbers in between; the rest is divided before, and subtracted after, in as few operations as it lies in pieces. Immutable: when terms or views change,
 * another plan is made.
 */
final class StepPlan {
    private final BaseMultiLayerUpdater<?> updater;
    private final List<UpdaterTerms> terms;
    private final StepKernels kernels;
    private final Clipping clipping;
    private final List<OnePassBlock> onePass = new ArrayList<>();
    private final List<UpdaterBlock> left = new ArrayList<>();
    private final List<INDArray> sums;
    private final List<INDArray> unmoved;
    private final List<INDArray> updatesOfUnmoved;

    /**
     * A plan for the terms of now.
     *
     * @param updater a network's
     * @param gradients its view of the network's gradients
     * @param parameters the network's
     * @param kernels the engine's
     * @param clipping limits of the network's gradients
     */
    StepPlan(
            BaseMultiLayerUpdater<?> updater,
            INDArray gradients,
            INDArray parameters,
            StepKernels kernels,
            Clipping clipping) {
        this.updater = updater;
        this.kernels = kernels;
        this.clipping = clipping;
        terms = UpdaterTerms.of(updater.getUpdaterBlocks());
        INDArray flatParameters = parameters.reshape(parameters.length());
        Intervals dividedBefore = new Intervals();
        Intervals movedAfter = new Intervals();
        for (int i = 0; i < terms.size(); i++) {
            UpdaterBlock block = updater.getUpdaterBlocks().get(i);
            Optional<OnePassBlock> known = onePass(block, terms.get(i), flatParameters);
            known.ifPresent(onePass::add);
            if (known.isEmpty() && !block.isPretrainUpdaterBlock()) {
                left.add(block);
            }
            if (!known.map(OnePassBlock::divides).orElse(false)) {
                block.getLayersAndVariablesInBlock().stream()
                        .filter(GradientParts::isSum)
                        .forEach(sum -> dividedBefore.add(sum.getParamOffsetStart(), sum.getParamOffsetEnd()));
            }
            if (known.flatMap(OnePassBlock::parameters).isEmpty()) {
                movedAfter.add(block.getParamOffsetStart(), block.getParamOffsetEnd());
            }
        }
        sums = dividedBefore.of(gradients);
        unmoved = movedAfter.of(parameters);
        updatesOfUnmoved = movedAfter.of(gradients);
    }

    private Optional<OnePassBlock> onePass(UpdaterBlock block, UpdaterTerms ofBlock, INDArray flatParameters) {
        INDArray gradients = block.getGradientView();
        if (gradients == null || block.isPretrainUpdaterBlock() || !kernels.isOnePass(block.getGradientUpdater())) {
            return Optional.empty();
        }
        boolean divides = !clipping.clipsValues()
                && !ofBlock.readMeans()
                && block.getLayersAndVariablesInBlock().stream().allMatch(GradientParts::isSum);
        INDArray parameters =
                flatParameters.get(NDArrayIndex.interval(block.getParamOffsetStart(), block.getParamOffsetEnd()));
        return Optional.of(new OnePassBlock(
                block,
                ofBlock,
                gradients,
                divides,
                ofBlock.addsToUpdates() ? Optional.empty() : Optional.of(parameters)));
    }

    /** Whether DL4J would still do what the plan was made for: users may change normalization and regularization in the middle of training. */
    boolean isUpToDate() {
        return terms.equals(UpdaterTerms.of(updater.getUpdaterBlocks()));
    }

    /** Whether some parameters are moved within the pass that makes their updates. Without any, DL4J's subtraction is as good as it gets. */
    boolean movesParameters() {
        return onePass.stream().anyMatch(block -> block.parameters().isPresent());
    }

    /**
     * Takes a step.
     *
     * @param call what the updater is called with, its gradients in the view
     * @param divisor what makes means, within the limit of their norm, of the gradients that are sums
     * @param subtracts whether the parameters are moved, too
     */
    void run(UpdaterCall call, float divisor, boolean subtracts) {
        if (divisor != 1) {
            sums.forEach(sum -> sum.divi(divisor));
        }
        clipping.clipValues(sums);
        if (terms.stream().anyMatch(UpdaterTerms::normalizes)) {
            GradientNormalizations.apply(updater, call);
        }
        call.workspaceMgr().assertNotOpen(ArrayType.UPDATER_WORKING_MEM, "Updater working memory");
        regularize(Regularization.ApplyStep.BEFORE_UPDATER, call);
        kernels.applyAll(onePass.stream()
                .map(block -> block.update(divisor, subtracts, call))
                .toList());
        regularize(Regularization.ApplyStep.POST_UPDATER, call);
        for (UpdaterBlock block : left) {
            inWorkingMemory(call, () -> block.update(call.iteration(), call.epoch()));
        }
        if (subtracts) {
            for (int i = 0; i < unmoved.size(); i++) {
                unmoved.get(i).subi(updatesOfUnmoved.get(i));
            }
        }
    }

    private void regularize(Regularization.ApplyStep when, UpdaterCall call) {
        for (OnePassBlock block : onePass) {
            if (block.isRegularized(when)) {
                inWorkingMemory(call, () -> block.regularize(when, call));
            }
        }
    }

    private static void inWorkingMemory(UpdaterCall call, Runnable work) {
        try (MemoryWorkspace scope = call.workspaceMgr().notifyScopeEntered(ArrayType.UPDATER_WORKING_MEM)) {
            work.run();
        }
    }
}
