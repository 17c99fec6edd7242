package org.dl4jamp.inspect.compare;

import java.util.List;
import java.util.Optional;
import org.dl4jamp.inspect.compare.numbers.NumberRange;

/**
 * A layer or vertex.
 *
 * @param layer its name in the plan
 * @param className simple name of its configuration class
 * @param precision the precision that it computes in
 * @param engine the engine that computes it, in the plan's words
 * @param computedWith the layer that is computed in one pass with it, so that there is no output between them
 * @param activations its outputs in training; empty if it's computed with the next layer
 * @param gradients those of all its parameters, unscaled; empty if it has none that learn
 * @param inputGradients those of its input in mixed precision, with the loss scale; empty where nothing reads them, and
 *     for layers that DL4J computes
 * @param parameters each of its parameters that learn
 */
public record LayerComparison(
        String layer,
        String className,
        String precision,
        String engine,
        Optional<String> computedWith,
        Optional<Compared> activations,
        Optional<Compared> gradients,
        Optional<NumberRange> inputGradients,
        List<ParameterComparison> parameters) {
    /**
     * Returns the share of its numbers in half precision that have overflowed, or would at twice their magnitude. It's
     * that of its activations or of the gradients of its input, whichever is larger.
     */
    public double nearOverflow() {
        return Math.max(
                activations.map(compared -> near(compared.inMixed())).orElse(0.0),
                inputGradients.map(LayerComparison::near).orElse(0.0));
    }

    private static double near(NumberRange range) {
        return range.nearOverflow() + range.nonFinite();
    }
}
