package org.dl4jamp.onednn.twin;

import java.util.Arrays;
import java.util.function.Supplier;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Shared state of a linear layer and the add vertex fused into it. If the other summand is there and has the product's
 * shape, the layer adds it and the vertex returns the sum. Otherwise the vertex adds, and applies the function behind
 * it, too.
 */
public final class GroupSum {
    private final IActivation activation;
    private final Eltwise function;
    private final boolean endsSummand;
    private Supplier<INDArray[]> inputs = () -> new INDArray[0];
    private int other;
    private boolean made;

    /**
     * @param activation the function of the sum, one that oneDNN has
     * @param endsSummand whether nothing reads the other summand after the layer has added it
     */
    public GroupSum(IActivation activation, boolean endsSummand) {
        Eltwise ofSum = Eltwise.of(activation).orElseThrow();
        this.activation = activation;
        this.function = ofSum.equals(Eltwise.IDENTITY) ? null : ofSum;
        this.endsSummand = endsSummand;
    }

    /** Returns whether the sum may be written over the other summand, if that is in memory of the engine's. */
    public boolean endsSummand() {
        return endsSummand;
    }

    /** Returns the function of the sum; null for none. */
    public Eltwise function() {
        return function;
    }

    /** Applies the function of the sum with ND4J, in place. */
    public INDArray applyByNd4j(INDArray ofDl4j) {
        return function == null ? ofDl4j : activation.getActivation(ofDl4j, false);
    }

    /**
     * Sets the inputs of the vertex.
     *
     * @param ofVertex returns those that are there; entries may be null
     * @param number index of the input that isn't the product
     */
    public void between(Supplier<INDArray[]> ofVertex, int number) {
        inputs = ofVertex;
        other = number;
    }

    /** Returns the other summand; null if it isn't there or has another shape. */
    public INDArray other(long[] shape) {
        made = false;
        INDArray[] now = inputs.get();
        INDArray summand = now == null || now.length <= other ? null : now[other];
        return summand != null && Arrays.equals(summand.shape(), shape) ? summand : null;
    }

    /** Marks the sum as made by the product layer. */
    public void made() {
        made = true;
    }

    /** Returns whether the product layer has added it in this pass, so that its result is the sum. */
    public boolean isMade() {
        return made;
    }

    /** Returns which of the vertex's two inputs the product is. */
    public int product() {
        return 1 - other;
    }
}
