package org.dl4jamp.benchmarks.blueprint;

/**
 * The loss that is minimized: the sum of all terms over the minibatch, as in DL4J. Figures show the mean of the terms.
 *
 * @param kind of the terms
 * @param terms number of terms
 * @param minibatch examples in the batch
 */
public record Loss(Kind kind, long terms, long minibatch) {
    /** The kind of a term. */
    public enum Kind {
        /** The square of the difference between an output and its label. */
        SQUARED_ERROR,
        /** The negative logarithm of the sigmoid's probability of a label, which is 0 or 1. */
        BINARY_CROSS_ENTROPY,
        /** The negative logarithm of the softmax of a row's right class. */
        CROSS_ENTROPY
    }

    /** Returns the mean of the terms from the sum over the minibatch. */
    public double mean(double sumOverMinibatch) {
        return sumOverMinibatch * minibatch / terms;
    }
}
