package org.dl4jamp.heal;

import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.dl4j.ParameterGradients;
import org.dl4jamp.gradient.NonFiniteSource;
import org.dl4jamp.install.EnabledNetwork;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.Place;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.rng.Random;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Passes of the batch in progress that change nothing. Gradient view, score and random numbers are as before when it's
 * closed. All passes draw the same random numbers. Listeners aren't notified.
 */
final class TrialPasses implements AutoCloseable {
    private final EnabledNetwork enabled;
    private final AmpNetwork network;
    private final Model model;
    private final Random random = Nd4j.getRandom();
    private final long root = random.rootState();
    private final long node = random.nodeState();
    private final double score;
    private final INDArray gradients;

    /** @param enabled not in a pause, and trained with standard backpropagation */
    TrialPasses(EnabledNetwork enabled) {
        this.enabled = enabled;
        this.network = enabled.served();
        this.model = network.model();
        this.score = model.score();
        this.gradients = copyOfGradients();
    }

    private INDArray copyOfGradients() {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return network.gradients().dup();
        }
    }

    private void run(Runnable pass) {
        random.setStates(root, node);
        pass.run();
    }

    private boolean isFinite() {
        return Double.isFinite(model.score())
                && NonFiniteSource.firstNonFinite(network.gradients()).isEmpty();
    }

    /**
     * Returns the first layer, in the order of the forward pass, whose gradients at the loss scale differ from those
     * with a scale for each layer. Empty if there is none, or if either aren't finite.
     *
     * @param most the Euclidean norm of the difference, relative to that of the gradients, up to which they don't
     */
    Optional<String> layerWhoseGradientsDiffer(double most) {
        run(enabled.step()::repeat);
        boolean finite = isFinite();
        INDArray scaled = copyOfGradients();
        run(network::runSilently);
        if (!finite || !isFinite()) {
            return Optional.empty();
        }
        return network.layers().stream()
                .filter(place -> difference(place.current().get(), scaled) > most)
                .map(Place::name)
                .findFirst();
    }

    private double difference(Layer layer, INDArray scaled) {
        Map<String, INDArray> of = ParameterGradients.of(layer, model.params(), scaled);
        double squares = 0;
        double differences = 0;
        for (Map.Entry<String, INDArray> gradient : ParameterGradients.of(layer, model.params(), network.gradients())
                .entrySet()) {
            // Running statistics aren't gradients.
            if (layer.updaterDivideByMinibatch(gradient.getKey())) {
                double largest = gradient.getValue().amaxNumber().doubleValue();
                if (largest > 0) {
                    // Squares of tiny numbers would vanish.
                    INDArray truth = gradient.getValue().div(largest);
                    INDArray difference = of.get(gradient.getKey()).div(largest).subi(truth);
                    squares += Math.pow(largest * truth.norm2Number().doubleValue(), 2);
                    differences += Math.pow(largest * difference.norm2Number().doubleValue(), 2);
                }
            }
        }
        return squares > 0 ? Math.sqrt(differences / squares) : 0;
    }

    /**
     * Returns the layer or vertex whose output is the first not to be finite; where all are, the layer whose gradient
     * is. Gradients are those with a scale for each layer. Empty if all are finite.
     */
    Optional<String> firstNonFinite() {
        random.setStates(root, node);
        Optional<String> output;
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            output = network.outputs().entrySet().stream()
                    .filter(entry ->
                            NonFiniteSource.firstNonFinite(entry.getValue()).isPresent())
                    .map(Map.Entry::getKey)
                    .findFirst();
        }
        return output.or(() -> {
            run(network::runSilently);
            return new NonFiniteSource(network).amongLayers();
        });
    }

    /** Returns whether loss and gradients are finite in FP32. */
    boolean isFiniteInFloat() {
        Runnable end = enabled.pauses().begin();
        try {
            run(network::runSilently);
            return isFinite();
        } finally {
            end.run();
        }
    }

    @Override
    public void close() {
        network.gradients().assign(gradients);
        network.setScore(score);
        random.setStates(root, node);
    }
}
