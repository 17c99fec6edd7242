package org.dl4jamp.onednn.attention;

import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The configuration of an attention layer or vertex. Its parameters are the projections of queries, keys and values,
 * {@code [heads, headSize, nIn]} each, and that of the output, {@code [heads * headSize, nOut]}, in this order.
 *
 * @param projects whether it has these; without, there is one head, of the size of the input
 * @param sources index of the input that queries, keys and values are made of, in this order
 * @param firstWeight the index of the first of these parameters among all parameters
 * @param learnsQueries whether the first input is made of parameters: its gradient is then FP32
 */
record AttentionForm(
        boolean projects,
        long heads,
        long headSize,
        long nOut,
        List<Integer> sources,
        long firstWeight,
        boolean learnsQueries) {
    static final int QUERIES = 0;
    static final int KEYS = 1;
    static final int VALUES = 2;

    /** Attention of one input to itself. */
    static AttentionForm ofItself(boolean projects, long heads, long headSize, long nOut) {
        return new AttentionForm(projects, heads, headSize, nOut, List.of(0, 0, 0), 0, false);
    }

    /** Attention of learned queries, which are the first parameters, to one input. */
    static AttentionForm ofLearnedQueries(boolean projects, long heads, long headSize, long nOut, long firstWeight) {
        return new AttentionForm(projects, heads, headSize, nOut, List.of(0, 1, 1), firstWeight, true);
    }

    /** Attention of one input to two others. */
    static AttentionForm ofThree(boolean projects, long heads, long headSize, long nOut) {
        return new AttentionForm(projects, heads, headSize, nOut, List.of(0, 1, 2), 0, false);
    }

    /** Returns the number of inputs. */
    int inputs() {
        return sources.get(VALUES) + 1;
    }

    /** Returns the index of the input that is made into queries, keys or values. */
    int source(int role) {
        return sources.get(role);
    }

    /** Returns how many of queries, keys and values are made of an input. */
    int uses(int input) {
        return (int) sources.stream().filter(source -> source == input).count();
    }

    /** Returns how many roles before it have the same input, whose projections share a row. */
    int place(int role) {
        return (int) sources.subList(0, role).stream()
                .filter(source -> source.equals(sources.get(role)))
                .count();
    }

    /** Returns the size of the rows of all heads. */
    long width(List<INDArray> inputs) {
        return projects ? heads * headSize : inputs.get(source(VALUES)).size(1);
    }
}
