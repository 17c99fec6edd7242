package org.dl4jamp.onednn.product;

/**
 * One layer's copies of its weights, whatever the number of shapes of its input.
 *
 * @param forward what forward passes read
 * @param backward what backward passes read, and forward passes that want the same order
 */
public record WeightCopies(WeightCopy forward, WeightCopy backward) implements AutoCloseable {
    public WeightCopies() {
        this(new WeightCopy(), new WeightCopy());
    }

    @Override
    public void close() {
        forward.close();
        backward.close();
    }
}
