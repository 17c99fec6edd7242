package org.dl4jamp.policy;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A group of layers and a vertex, each the only consumer of the one before. Inference computes it at once, at the first
 * one's turn; the others pass its result through.
 *
 * @param head name of the layer that multiplies
 * @param normalization name of the batch normalization that is folded into its weights
 * @param sum the vertex that adds to the product
 * @param function name of the layer whose activation function is applied to the result
 * @param place index of the buffer for the result; live groups never share one. Empty if something may keep the result
 *     for an unknown time
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
     * @param endsSummand whether the result may be written over that summand: nothing reads it any more after the head
     */
    public record Sum(String vertex, int summand, boolean endsSummand) {}

    /** Returns the names of all, in order. */
    public List<String> members() {
        return Stream.of(Optional.of(head), normalization, sum.map(Sum::vertex), function)
                .flatMap(Optional::stream)
                .toList();
    }

    /** Returns those that pass the result through, in order; not empty. */
    public List<String> followers() {
        return members().subList(1, members().size());
    }

    /** Returns the last of them. */
    public String tail() {
        return members().get(members().size() - 1);
    }

    FusionGroup at(int number, boolean endsSummand) {
        Optional<Sum> placed = sum.map(own -> new Sum(own.vertex(), own.summand(), endsSummand));
        return new FusionGroup(head, normalization, placed, function, Optional.of(number));
    }
}
