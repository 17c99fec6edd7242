package org.dl4jamp.step;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.AmpException;
import org.dl4jamp.engine.StepKernels;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.rng.Random;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.NoOp;

/**
 * Adds the gradient of a penalty on their norm, {@code GradientPenalty}, to the gradients of a step:
 *
 * <pre>
 * g  = gradients of the step                      w, g are remembered
 * w += radius · g / ‖g‖
 * h  = gradients of the same batch                with the random numbers of g
 * w  = what it was, bit for bit
 * gradients = (1 - a) · g + a · h                 a = coefficient / radius
 * </pre>
 *
 * <p>The network itself makes the second pass, with what it holds of the batch between its first pass and the updater. Since DL4J's optimizer doesn't call for it, it isn't scaled: its gradients
 * are right at once, however large or small they are.
 */
public final class PenalizedGradient {
    private final double coefficient;
    private final double radius;
    private final Model model;
    private boolean drawsNumbers;
    private INDArray parameters;
    private INDArray gradients;

    /**
     * @param coefficient how much the norm counts
     * @param radius how far the weights are moved for the second gradient
     * @param model a network
     * @throws AmpException if the network is trained with truncated backpropagation through time
     */
    public PenalizedGradient(double coefficient, double radius, Model model) {
        this.coefficient = coefficient;
        this.radius = radius;
        this.model = model;
        if (backpropType() == BackpropType.TruncatedBPTT) {
            throw new AmpException(
                    "gradientPenalty: the network is trained with truncated backpropagation through time,"
                            + " where the first pass moves the recurrent state that the second one would have to begin with;"
                            + " use BackpropType.Standard, or leave the penalty out");
        }
    }

    private BackpropType backpropType() {
        return model instanceof MultiLayerNetwork network
                ? network.getLayerWiseConfigurations().getBackpropType()
                : ((ComputationGraph) model).getConfiguration().getBackpropType();
    }

    /**
     * Adds the penalty's gradient. Parameters, score and listeners are as before when it returns.
     *
     * @param view the network's gradients, finite; if something isn't finite on the way they are undefined afterwards
     * @param updater the network's
     * @param kernels look for what isn't finite
     * @return what wasn't finite, empty if the gradients are those of loss and penalty
     */
    Optional<String> addTo(INDArray view, BaseMultiLayerUpdater<?> updater, StepKernels kernels) {
        List<Range> updates = updates(updater);
        double score = model.score();
        Collection<TrainingListener> listeners = listeners();
        List<TrainingListener> silenced = List.copyOf(listeners);
        listeners.clear();
        try {
            parameters = copy(model.params(), parameters);
            gradients = copy(view, gradients);
            return drawsNumbers ? redoAndAdd(view, updates, kernels) : add(view, updates, kernels);
        } finally {
            listeners.addAll(silenced);
            Score.set(model, score);
        }
    }

    /** A part of the parameters. */
    private record Range(long start, long end) {
        INDArray of(INDArray all) {
            return all.reshape(all.length()).get(NDArrayIndex.interval(start, end));
        }
    }

    /** Where the gradient view holds updates, which DL4J marks so: they aren't divided by the minibatch, or applied as they are. */
    private static List<Range> updates(BaseMultiLayerUpdater<?> updater) {
        List<Range> updates = new ArrayList<>();
        for (UpdaterBlock block : updater.getUpdaterBlocks()) {
            for (UpdaterBlock.ParamState parameter : block.getLayersAndVariablesInBlock()) {
                String name = parameter.getParamName();
                IUpdater rule = parameter.getLayer().getConfig().getUpdaterByParam(name);
                if (rule == null
                        || rule instanceof NoOp
                        || !parameter.getLayer().updaterDivideByMinibatch(name)) {
                    updates.add(new Range(parameter.getParamOffsetStart(), parameter.getParamOffsetEnd()));
                }
            }
        }
        return updates;
    }

    private static INDArray copy(INDArray from, INDArray to) {
        if (to != null && to.length() == from.length()) {
            return to.assign(from.reshape(to.shape()));
        }
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return from.dup();
        }
    }

    private Optional<String> add(INDArray view, List<Range> updates, StepKernels kernels) {
        Random random = Nd4j.getRandom();
        long root = random.rootState();
        long node = random.nodeState();
        Optional<String> notFinite = addDifference(view, updates, kernels);
        if (root == random.rootState() && node == random.nodeState()) {
            return notFinite;
        }
        // Dropout or noise: the first gradient was made with other numbers, and the difference would be theirs.
        drawsNumbers = true;
        return redoAndAdd(view, updates, kernels);
    }

    /** Makes both gradients, with the same random numbers. */
    private Optional<String> redoAndAdd(INDArray view, List<Range> updates, StepKernels kernels) {
        Random random = Nd4j.getRandom();
        long root = random.rootState();
        long node = random.nodeState();
        run();
        if (!kernels.allFinite(view) || !Double.isFinite(model.score())) {
            return Optional.of("loss or gradients of the pass that is repeated for the gradient penalty");
        }
        updates.forEach(range -> range.of(view).assign(range.of(gradients)));
        gradients = copy(view, gradients);
        random.setStates(root, node);
        return addDifference(view, updates, kernels);
    }

    private Optional<String> addDifference(INDArray view, List<Range> updates, StepKernels kernels) {
        makeUphill(view, updates);
        // What is no gradient, and what is the same in both, has no difference.
        updates.forEach(range -> range.of(view).assign(range.of(gradients)));
        view.subi(gradients).muli(coefficient / radius).addi(gradients);
        return kernels.allFinite(view) && Double.isFinite(model.score())
                ? Optional.empty()
                : Optional.of("loss or gradients of the gradient penalty's second pass");
    }

    /** Makes the gradients a radius away along the remembered ones; where these are zero that's here. */
    private void makeUphill(INDArray view, List<Range> updates) {
        view.assign(gradients);
        updates.forEach(range -> range.of(view).assign(0));
        double largest = view.amaxNumber().doubleValue();
        INDArray current = model.params();
        try {
            if (largest > 0) {
                // Squares of what is divided by the largest neither overflow nor vanish.
                view.divi(largest);
                view.muli(radius / view.norm2Number().doubleValue());
                current.addi(view.reshape(current.shape()));
            }
            view.assign(gradients);
            run();
        } finally {
            current.assign(parameters);
        }
    }

    private void run() {
        if (model instanceof ComputationGraph graph) {
            INDArray[] features = graph.getInputMaskArrays();
            INDArray[] labels = graph.getLabelMaskArrays();
            if (anyOf(features) || anyOf(labels)) {
                // A graph has cleared its layers after the first pass.
                graph.setLayerMaskArrays(features, labels);
            }
        }
        model.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
    }

    private static boolean anyOf(INDArray[] masks) {
        return masks != null && Arrays.stream(masks).anyMatch(Objects::nonNull);
    }

    private Collection<TrainingListener> listeners() {
        return model instanceof MultiLayerNetwork network
                ? network.getListeners()
                : ((ComputationGraph) model).getListeners();
    }
}
