package org.dl4jamp.inspect.compare;

import java.util.List;
import java.util.Optional;
import org.dl4jamp.inspect.compare.numbers.Difference;
import org.dl4jamp.policy.PrecisionPlan;

/**
 * The figures of the batches with one policy.
 *
 * @param plan the plan that they were run with
 * @param engine the engine's name
 * @param firstScale the loss scale before the first batch
 * @param lastScale the loss scale after the last batch
 * @param skips the reasons of skipped steps
 * @param loss the mean loss of the batches
 * @param layers layers and vertices in the order of the forward pass
 * @param gradients the difference of all gradients of the network
 */
record Measurement(
        PrecisionPlan plan,
        String engine,
        double firstScale,
        double lastScale,
        List<String> skips,
        double loss,
        List<LayerComparison> layers,
        Difference gradients) {
    Optional<LayerComparison> layer(String name) {
        return layers.stream().filter(layer -> layer.layer().equals(name)).findFirst();
    }

    long halfLayers() {
        return plan.rows().stream().filter(row -> row.precision().isHalf()).count();
    }
}
