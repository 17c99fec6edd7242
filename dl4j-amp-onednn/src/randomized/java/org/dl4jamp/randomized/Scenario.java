package org.dl4jamp.randomized;

import java.util.List;
import java.util.Set;
import org.dl4jamp.randomized.Part.Family;

/**
 * A network and the calls on it, as choices that a shrinker can reduce. A part that doesn't fit behind the one before
 * is left out.
 *
 * @param graph whether it's a ComputationGraph
 * @param input the first input
 * @param updater the updater of most layers
 * @param options further choices
 * @param parts layers and vertices; the network has those that fit
 * @param calls the calls on the network
 * @param seed of all that isn't drawn by a part or a call
 */
record Scenario(
        boolean graph,
        Family input,
        Updaters updater,
        Set<Option> options,
        List<Gene> parts,
        List<Step> calls,
        long seed) {

    /** A part, and the seed of its settings. */
    record Gene(Part part, long seed) {
        @Override
        public String toString() {
            return part.toString();
        }
    }

    /** A call, and the seed of its arguments. */
    record Step(Call call, long seed) {
        @Override
        public String toString() {
            return call.toString();
        }
    }

    /**
     * Whether an option is chosen and can be compared: stock DL4J has one batch where mixed precision accumulates, and
     * none where it skips, so that it draws other random numbers.
     */
    boolean has(Option option) {
        return options.contains(option) && !(makesOtherSteps() && option.needsEqualSteps());
    }

    /** Returns whether stock DL4J trains with other batches than mixed precision. */
    boolean makesOtherSteps() {
        return options.contains(Option.ACCUMULATION) || options.contains(Option.FAILURES);
    }

    /** Returns whether backpropagation through time is truncated, which graphs of this test never are. */
    boolean truncates() {
        return has(Option.TRUNCATED) && !graph;
    }

    /** Returns whether gradients are clipped, by their norm or one by one. */
    boolean clips() {
        return has(Option.CLIP_NORM) || has(Option.CLIP_VALUE);
    }

    /** Returns whether gradients aren't those of stock DL4J. */
    boolean changesGradients() {
        return clips() || has(Option.PENALTY);
    }

    /** Returns the weight of the gradient's norm in the loss. */
    double penalty() {
        return new Draw(seed ^ 23).real(0.005, 0.05);
    }

    /** Returns how far apart the two gradients are of which the penalty's is made. */
    double penaltyRadius() {
        return new Draw(seed ^ 29).real(0.05, 0.1);
    }

    /** Returns the norm that gradients are clipped to. */
    double clipNorm() {
        return new Draw(seed ^ 17).real(0.05, 1);
    }

    /** Returns the magnitude that gradients are clipped to. */
    double clipValue() {
        return new Draw(seed ^ 19).real(0.01, 0.2);
    }

    boolean makes(Call call) {
        return calls.stream().anyMatch(step -> step.call() == call);
    }

    /** Returns whether engines would repeat passes if the network began with layers that are computed at once. */
    boolean mayRepeatPasses() {
        return makes(Call.INFERENCE)
                && (input == Family.IMAGES || input == Family.VECTORS)
                && !has(Option.NO_WORKSPACES)
                && !has(Option.ACCUMULATION);
    }

    /** Returns how many calls of {@code fit} make a step. */
    int microBatches() {
        return has(Option.ACCUMULATION) ? new Draw(seed ^ 11).between(2, 4) : 1;
    }

    boolean carriesOver() {
        return new Draw(seed ^ 13).chance(0.4);
    }
}
