package org.dl4jamp.inspect.compare;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.dl4jamp.inspect.compare.numbers.Difference;

/**
 * Numbers of a layer that differ from FP32's by more than training tolerates.
 *
 * @param layer the layer or vertex
 * @param ofActivations whether they are its activations, and not the gradients of its parameters
 * @param numbers the numbers
 */
record Weakness(LayerComparison layer, boolean ofActivations, Compared numbers) {
    /**
     * The error from which numbers count as weak; at this one the cosine is 0.97. Gradients of minibatches have more
     * noise as a rule. A ReLU that opens for one more example makes a tenth in small batches.
     */
    static final double TOLERANCE = 0.25;

    /** The part of an error that rounding the weights has to cause, to be its reason. */
    private static final double PART = 1.0 / 3;

    /** The part of the gradients' norm that becomes zero from which they underflow. */
    private static final double UNDERFLOW = 0.25;

    /** Returns where numbers are weak, in the order in which a step computes them: forward, then backward. */
    static List<Weakness> among(List<LayerComparison> layers) {
        Stream<Weakness> forward =
                layers.stream().flatMap(layer -> layer.activations().stream().map(of -> new Weakness(layer, true, of)));
        List<Weakness> backward = new ArrayList<>(layers.stream()
                .flatMap(layer -> layer.gradients().stream().map(of -> new Weakness(layer, false, of)))
                .toList());
        Collections.reverse(backward);
        return Stream.concat(forward, backward.stream())
                .filter(Weakness::isWeak)
                .toList();
    }

    private boolean isWeak() {
        return numbers.mixed().overflows() || numbers.mixed().error() > TOLERANCE;
    }

    /** Returns the first that rounding the weights alone doesn't explain. What comes later may follow from it. */
    static Optional<Weakness> ofPolicy(List<LayerComparison> layers) {
        double activations = largestOfRounded(layers, LayerComparison::activations);
        double gradients = largestOfRounded(layers, LayerComparison::gradients);
        return among(layers).stream()
                .filter(weak -> !weak.isExplained(weak.ofActivations ? activations : gradients))
                .findFirst();
    }

    /**
     * Returns whether rounding the weights alone explains the error: it causes a third of it at least, in this layer
     * or, where the network amplifies it, in another one. Mixed precision rounds weights, activations and gradients.
     * What happens in another layer doesn't explain underflow.
     */
    private boolean isExplained(double largestOfRounded) {
        Difference mixed = numbers.mixed();
        double own = numbers.rounded().map(Weakness::finiteError).orElse(0.0);
        boolean underflows = !ofActivations && mixed.lost() > UNDERFLOW;
        return mixed.nonFinite() == 0
                && (own >= PART * mixed.error() || (!underflows && largestOfRounded >= PART * mixed.error()));
    }

    /** Returns the largest error that rounding the weights makes anywhere. */
    private static double largestOfRounded(
            List<LayerComparison> layers, Function<LayerComparison, Optional<Compared>> numbers) {
        return layers.stream()
                .map(numbers)
                .flatMap(Optional::stream)
                .flatMap(compared -> compared.rounded().stream())
                .mapToDouble(Weakness::finiteError)
                .filter(Double::isFinite)
                .max()
                .orElse(0);
    }

    private static double finiteError(Difference difference) {
        return difference.nonFinite() > 0 ? 0 : difference.error();
    }

    String name() {
        return layer.layer();
    }
}
