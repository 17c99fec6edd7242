package org.dl4jamp.onednn.twin;

import java.util.Arrays;
import java.util.function.Supplier;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What a product layer and the vertex behind it know of each other that adds something to the product: the layer asks
 * for the other summand, and if that can be had and has the product's shape, the layer adds it and the vertex hands the
 * sum on. Otherwise the vertex adds, and applies the function behind it, too.
 */
public final class GroupSum {
    private final Eltwise function;
    private Supplier<INDArray[]> inputs = () -> new INDArray[0];
    private int other;
    private boolean made;

    /** @param function what is applied to the sum; null for nothing */
    public GroupSum(Eltwise function) {
        this.function = function;
    }

    /** Returns what is applied to the sum; null for nothing. */
    public Eltwise function() {
        return function;
    }

    /**
     * Hears of the vertex.
     *
     * @param ofVertex its inputs as far as they're there; entries may be null
     * @param number which of them isn't the product
     */
    public void between(Supplier<INDArray[]> ofVertex, int number) {
        inputs = ofVertex;
        other = number;
    }

    /** The other summand, null if it isn't there or has another shape. */
    public INDArray other(long[] shape) {
        made = false;
        INDArray[] now = inputs.get();
        INDArray summand = now == null || now.length <= other ? null : now[other];
        return summand != null && Arrays.equals(summand.shape(), shape) ? summand : null;
    }

    /** Hears that the product layer has added it. */
    public void made() {
        made = true;
    }

    /** Returns whether the product layer has added it in this pass, so that its result is the sum. */
    public boolean isMade() {
        return made;
    }

    /** Which of the vertex's two inputs the product layer's result is. */
    public int product() {
        return 1 - other;
    }
}
