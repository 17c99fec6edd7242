package org.dl4jamp.step;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.deeplearning4j.optimize.api.StepFunction;
import org.deeplearning4j.optimize.solvers.StochasticGradientDescent;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.deeplearning4j.optimize.solvers.accumulation.IndexedTail;
import org.deeplearning4j.optimize.stepfunctions.NegativeGradientStepFunction;
import org.dl4jamp.engine.OnePassUpdater;
import org.dl4jamp.engine.StepKernels;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * Subtracts updates from parameters. What DL4J's optimizer does in a pass over all parameters is left to the updaters that can do it in theirs,
 * unless weight decay is added to the updates in between. It accumulates nothing: a GradientsAccumulator is what DL4J's optimizer leaves its
 * subtraction to.
 */
final class UpdateSubtraction implements GradientsAccumulator {
    private static final long serialVersionUID = 1L;

    private final transient Model model;
    private final transient StepKernels kernels;
    private final transient INDArray parameters;
    private final transient INDArray flatParameters;
    private final transient INDArray flatUpdates;
    private final transient List<UpdaterBlock> blocks;
    private final transient List<ByUpdater> byUpdaters = new ArrayList<>();
    private final transient List<Rest> rests = new ArrayList<>();
    private final transient PostponedUpdates postponed = new PostponedUpdates();
    private transient boolean done;

    private record ByUpdater(OnePassUpdater<?> updater, INDArray parameters) {}

    private record Rest(INDArray parameters, INDArray updates) {}

    /**
     * @param model a network
     * @param blocks those of its updater; some are replaced
     * @param gradients its gradients, which become updates
     * @param kernels where the blocks' updaters come from
     */
    UpdateSubtraction(Model model, List<UpdaterBlock> blocks, INDArray gradients, StepKernels kernels) {
        this.model = model;
        this.kernels = kernels;
        this.parameters = model.params();
        this.flatParameters = parameters.reshape(parameters.length());
        this.flatUpdates = gradients.reshape(gradients.length());
        this.blocks = blocks;
        blocks.replaceAll(
                block -> block.getGradientUpdater() instanceof OnePassUpdater<?> && !block.isPretrainUpdaterBlock()
                        ? new PostponedBlock(block, postponed)
                        : block);
    }

    /**
     * Decides which updaters move their parameters.
     *
     * @param terms what else is done to the updates of each block
     */
    void plan(List<UpdaterTerms> terms) {
        byUpdaters.clear();
        rests.clear();
        List<PostponedBlock> left = new ArrayList<>();
        for (int i = 0; i < blocks.size(); i++) {
            if (blocks.get(i) instanceof PostponedBlock block) {
                block.setLeftToUpdater(!terms.get(i).addsToUpdates());
                if (block.isLeftToUpdater()) {
                    left.add(block);
                }
            }
        }
        left.sort(Comparator.comparingInt(UpdaterBlock::getParamOffsetStart));
        long done = 0;
        for (PostponedBlock block : left) {
            addRest(done, block.getParamOffsetStart());
            done = block.getParamOffsetEnd();
            byUpdaters.add(new ByUpdater(
                    (OnePassUpdater<?>) block.getGradientUpdater(),
                    interval(flatParameters, block.getParamOffsetStart(), done)));
        }
        addRest(done, parameters.length());
    }

    private void addRest(long start, long end) {
        if (end > start) {
            rests.add(new Rest(interval(flatParameters, start, end), interval(flatUpdates, start, end)));
        }
    }

    private static INDArray interval(INDArray flat, long start, long end) {
        return flat.get(NDArrayIndex.interval(start, end));
    }

    /** Takes over an optimizer's subtraction, if there is something to gain and it's DL4J's plain one. */
    void install(ConvexOptimizer optimizer) {
        remove(optimizer);
        if (optimizer.getGradientsAccumulator() == null
                && blocks.stream().anyMatch(PostponedBlock.class::isInstance)
                && optimizer instanceof StochasticGradientDescent descent
                && descent.getStepFunction().getClass() == NegativeGradientStepFunction.class) {
            optimizer.setGradientsAccumulator(this);
        }
    }

    /** Gives an optimizer its subtraction back. */
    static void remove(ConvexOptimizer optimizer) {
        if (optimizer.getGradientsAccumulator() instanceof UpdateSubtraction) {
            optimizer.setGradientsAccumulator(null);
        }
    }

    /**
     * Applies an updater for an optimizer that waits for the updates, and subtracts them if it has left that to this object.
     *
     * @param updater makes updates of the network's gradients
     */
    void around(Runnable updater) {
        done = false;
        if (byUpdaters.isEmpty()
                || model.getOptimizer().getGradientsAccumulator() != this
                || !Memory.isSame(parameters, model.params())) {
            updater.run();
            return;
        }
        byUpdaters.forEach(one -> one.updater.subtractNextFrom(one.parameters));
        postponed.open();
        try {
            updater.run();
            kernels.applyAll(postponed.close());
        } finally {
            postponed.close();
            byUpdaters.forEach(one -> one.updater.subtractNextFrom(null));
        }
        rests.forEach(rest -> rest.parameters.subi(rest.updates));
        done = true;
    }

    @Override
    public void applyUpdate(StepFunction function, INDArray params, INDArray updates, boolean isFinalStep) {
        if (!done) {
            function.step(params, updates);
        }
        done = false;
    }

    @Override
    public void applyUpdate(StepFunction function, INDArray params, INDArray updates, double alpha) {
        function.step(params, updates, alpha);
    }

    @Override
    public boolean hasAnything() {
        return false;
    }

    @Override
    public void storeUpdate(INDArray array, int iterationNumber, int epochNumber) {}

    @Override
    public void receiveUpdate(INDArray array) {
        throw new UnsupportedOperationException(
                "Updates from elsewhere: set an accumulator that takes them with setGradientsAccumulator");
    }

    @Override
    public void setExternalSource(IndexedTail source) {
        throw new UnsupportedOperationException(
                "Updates from elsewhere: set an accumulator that takes them with setGradientsAccumulator");
    }

    @Override
    public IndexedTail getExternalSource() {
        return null;
    }

    @Override
    public void markExternalUpdates(boolean updatesAvailable) {}

    @Override
    public void reset() {}

    @Override
    public void touch() {}
}
