package org.dl4jamp.benchmarks.blueprint;

/**
 * What is minimized: the sum of all terms over the minibatch, as in DL4J. Figures show the mean of the terms.
 *
 * @param kind of the terms
 * @param terms how many there are
 * @param minibatch examples in the batch
 */
public record Loss(Kind kind, long terms, long minibatch) {
    /** What a term is. */
    public enum Kind {
        /** The square of the difference between an output and its label. */
        SQUARED_ERROR,
        /** The negative logarithm of the softmax of a row's right class. */
        CROSS_ENTROPY
    }

    /** The mean of the terms, of the sum over the minibatch. */
    public double mean(double sumOverMinibatch) {
        return sumOverMinibatch * minibatch / terms;
    }
}
