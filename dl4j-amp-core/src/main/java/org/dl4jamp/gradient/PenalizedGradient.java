package org.dl4jamp.gradient;

import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.HiddenFields;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.rng.Random;
import org.nd4j.linalg.factory.Nd4j;

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
 * <p>The network itself makes the second pass, with what it holds of the batch between its first pass and the updater.
 * It isn't a call of DL4J's optimizer, so it isn't scaled: its gradients are right at once, large or small.
 */
public final class PenalizedGradient {
    private final double coefficient;
    private final double radius;
    private final AmpNetwork network;
    private final Model model;
    private boolean drawsNumbers;
    private INDArray parameters;
    private GradientParts.Parted first;

    /**
     * @param coefficient weight of the norm
     * @param radius distance by which the weights are moved for the second gradient
     * @param model a network
     * @throws AmpException if the network is trained with truncated backpropagation through time
     */
    public PenalizedGradient(double coefficient, double radius, Model model) {
        this.coefficient = coefficient;
        this.radius = radius;
        this.model = model;
        this.network = AmpNetwork.of(model);
        if (network.backpropType() == BackpropType.TruncatedBPTT) {
            throw new AmpException(
                    "gradientPenalty: the network is trained with truncated backpropagation through time,"
                            + " where the first pass moves the recurrent state that the second one would have to"
                            + " begin with; use BackpropType.Standard, or leave the penalty out");
        }
    }

    /**
     * Adds the penalty's gradient. Parameters, score and listeners are as before when it returns.
     *
     * @param of the network's gradients, finite; if something isn't finite on the way they are undefined afterwards
     * @param divisor the divisor that makes means of sums among them
     * @param kernels look for what isn't finite
     * @return a description of what wasn't finite; empty if the gradients are those of loss and penalty
     */
    public Optional<String> addTo(GradientParts.Parted of, double divisor, StepKernels kernels) {
        double score = model.score();
        try {
            parameters = copy(model.params(), parameters);
            remember(of);
            return HiddenFields.inSilence(model, () -> add(of, divisor, kernels));
        } finally {
            network.setScore(score);
        }
    }

    private void remember(GradientParts.Parted of) {
        first = of.parts().of(copy(of.all(), first == null ? null : first.all()));
    }

    private void putUpdatesBack(GradientParts.Parted of) {
        for (int i = 0; i < of.updates().size(); i++) {
            of.updates().get(i).assign(first.updates().get(i));
        }
    }

    private static INDArray copy(INDArray from, INDArray to) {
        if (to != null) {
            return to.assign(from.reshape(to.shape()));
        }
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return from.dup();
        }
    }

    private Optional<String> add(GradientParts.Parted of, double divisor, StepKernels kernels) {
        Random random = Nd4j.getRandom();
        long root = random.rootState();
        long node = random.nodeState();
        if (drawsNumbers) {
            model.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
            if (!kernels.allFinite(of.all()) || !Double.isFinite(model.score())) {
                return Optional.of("loss or gradients of the pass that is repeated for the gradient penalty");
            }
            putUpdatesBack(of);
            remember(of);
            random.setStates(root, node);
        }
        Optional<String> notFinite = addDifference(of, divisor, kernels);
        if (drawsNumbers || (root == random.rootState() && node == random.nodeState())) {
            return notFinite;
        }
        // Dropout or noise: the first gradient was made with other numbers, and the difference would be theirs. Both
        // are made again, with the same numbers.
        drawsNumbers = true;
        return add(of, divisor, kernels);
    }

    private Optional<String> addDifference(GradientParts.Parted of, double divisor, StepKernels kernels) {
        INDArray view = of.all();
        makeUphill(of, divisor);
        // What is no gradient, and what is the same in both, has no difference.
        putUpdatesBack(of);
        view.subi(first.all()).muli(coefficient / radius).addi(first.all());
        return kernels.allFinite(view) && Double.isFinite(model.score())
                ? Optional.empty()
                : Optional.of("loss or gradients of the gradient penalty's second pass");
    }

    /** Makes the gradients a radius away along the remembered ones; where these are zero that's here. */
    private void makeUphill(GradientParts.Parted of, double divisor) {
        INDArray view = of.all();
        view.assign(first.all());
        of.means().forEach(mean -> mean.muli(divisor));
        of.updates().forEach(update -> update.assign(0));
        double largest = view.amaxNumber().doubleValue();
        INDArray current = model.params();
        try {
            if (largest > 0) {
                // Squares of what is divided by the largest neither overflow nor vanish.
                view.divi(largest);
                view.muli(radius / view.norm2Number().doubleValue());
                current.addi(view.reshape(current.shape()));
            }
            view.assign(first.all());
            model.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
        } finally {
            current.assign(parameters);
        }
    }
}
