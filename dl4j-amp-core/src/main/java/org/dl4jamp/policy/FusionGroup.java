package org.dl4jamp.policy;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Layers and a vertex, each the only consumer of the one before, that inference computes at once, when it's the first
 * one's turn. The others hand its result on.
 *
 * @param head name of the layer that multiplies
 * @param normalization name of the batch normalization that is folded into its weights
 * @param sum the vertex that adds something to the product
 * @param function name of the layer whose activation function is applied to the result
 * @param place number of the memory that the result may be put in, of which no two that are alive at the same time have
 *     the same; empty if something may keep the result for longer than is known
 */
public record FusionGroup(
        String head,
        Optional<String> normalization,
        Optional<Sum> sum,
        Optional<String> function,
        Optional<Integer> place) {
    /**
     * A vertex that adds two arrays.
     *
     * @param vertex its name
     * @param summand which of its inputs, 0 or 1, isn't the product, and is there already when it's the head's turn
     */
    public record Sum(String vertex, int summand) {}

    /** Those that hand the result on, in order; not empty. */
    public List<String> followers() {
        List<String> names = new ArrayList<>();
        normalization.ifPresent(names::add);
        sum.map(Sum::vertex).ifPresent(names::add);
        function.ifPresent(names::add);
        return names;
    }

    /** The last of them. */
    public String tail() {
        List<String> followers = followers();
        return followers.get(followers.size() - 1);
    }

    FusionGroup at(int number) {
        return new FusionGroup(head, normalization, sum, function, Optional.of(number));
    }
}
