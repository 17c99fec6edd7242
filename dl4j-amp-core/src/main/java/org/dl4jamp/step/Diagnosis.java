package org.dl4jamp.step;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import org.dl4jamp.gradient.FiniteCheck;
import org.dl4jamp.gradient.NonFiniteSource;
import org.dl4jamp.gradient.Score;
import org.dl4jamp.layer.LossScalingLayer;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.scale.Skip;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Says why a backward pass isn't to be learned from: the batch, the loss of a sound batch, or, where both are finite,
 * the loss scale.
 */
final class Diagnosis {
    private final AmpNetwork network;
    private final ScaleUpdates scale;
    private final NonFiniteSource culprit;
    private final Map<LossScalingLayer, INDArray> labels = new LinkedHashMap<>();
    private Predicate<INDArray> special = array -> false;

    Diagnosis(AmpNetwork network, ScaleUpdates scale) {
        this.network = network;
        this.scale = scale;
        this.culprit = new NonFiniteSource(network);
    }

    /** Takes the engine's test for arrays of which it may lose something. */
    void use(Predicate<INDArray> engines) {
        this.special = engines;
    }

    /**
     * Returns whether the batch has features that aren't finite, and that the engine may have made finite: its ReLU
     * makes zero of NaN.
     */
    boolean mayHideFeatures() {
        return network.features().stream()
                .anyMatch(features -> features != null
                        && special.test(features)
                        && FiniteCheck.firstNonFinite(features).isPresent());
    }

    /** Sets an output layer's labels at the begin of a backward pass; may be null. */
    void begins(LossScalingLayer output, INDArray batchLabels) {
        labels.put(output, batchLabels);
    }

    /** Lets go of the batch. */
    void ends() {
        labels.clear();
    }

    /**
     * Returns the reason why gradients or loss of an iteration aren't finite. If it's the batch, the network's score
     * becomes NaN. The loss is without the scale.
     */
    Skip of(int iteration, double loss) {
        double factor = scale.arePaused() ? 1 : scale.scaler().scale();
        Optional<String> badBatch = culprit.inBatch(labels.values());
        if (badBatch.isPresent()) {
            // As in stock DL4J. oneDNN's ReLU makes zero of NaN, and the loss a number.
            Score.set(network.model(), Double.NaN);
            return new Skip(
                    Skip.Cause.BATCH, badBatch.get() + " in the batch of iteration " + iteration, Optional.empty());
        }
        if (!Double.isFinite(loss)) {
            return new Skip(
                    Skip.Cause.LOSS,
                    "the loss of iteration " + iteration + " is " + loss + " at the finite loss scale " + factor
                            + ", with finite features and labels",
                    Optional.empty());
        }
        if (scale.arePaused()) {
            return new Skip(
                    Skip.Cause.UNSCALED,
                    "gradients weren't finite in iteration " + iteration + ", in a pause, in FP32",
                    culprit.amongParameters());
        }
        return new Skip(
                Skip.Cause.OVERFLOW,
                "gradients overflowed in iteration " + iteration + " at loss scale " + factor,
                culprit.amongParameters());
    }

    /** Returns the reason to skip a pass that wasn't scaled, from what wasn't finite in it. */
    Skip ofUnscaled(int iteration, String what) {
        return new Skip(
                Skip.Cause.UNSCALED, what + " weren't finite in iteration " + iteration, culprit.amongParameters());
    }
}
