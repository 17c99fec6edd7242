package org.dl4jamp.onednn.attention;

import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.weights.WeightCopy;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The parameters of a recurrent attention layer in a row, and their gradients: W, R, Wq, Wk, Wv, Wo, b. A layer without
 * projections has W, R and b.
 *
 * @param type of products
 * @param copy memory for a copy of all parameters in that type
 * @param params FP32
 * @param gradients FP32, in the same order
 */
record RecurrentAttentionWeights(
        RecurrentAttentionLayer layer, DataType type, WeightCopy copy, INDArray params, INDArray gradients) {

    /** The parameters, in their order. The values' projection follows that of the keys. */
    enum Of {
        INPUT,
        RECURRENT,
        QUERIES,
        KEYS,
        VALUES,
        OUTPUT,
        BIAS
    }

    /** Returns the size of a row of all heads, or of the input, which is used as it is without projections. */
    static long width(RecurrentAttentionLayer layer) {
        return layer.isProjectInput() ? layer.getNHeads() * layer.getHeadSize() : layer.getNIn();
    }

    private long length(Of which) {
        long projected = layer.isProjectInput() ? width(layer) : 0;
        return switch (which) {
            case INPUT -> layer.getNIn() * layer.getNOut();
            case RECURRENT -> layer.getNOut() * layer.getNOut();
            case QUERIES, OUTPUT -> projected * layer.getNOut();
            case KEYS, VALUES -> projected * layer.getNIn();
            case BIAS -> layer.getNOut();
        };
    }

    /** Returns the index of a parameter's first number. */
    private long first(Of which) {
        long first = 0;
        for (Of before : Of.values()) {
            if (before.compareTo(which) < 0) {
                first += length(before);
            }
        }
        return first;
    }

    /** Copies the parameters to the type of products, if they aren't there. */
    void take(RecurrentAttentionKernels kernels) {
        if (type != DataType.FLOAT && !copy.isCurrent()) {
            kernels.round.copy(Place.of(params), copy.place(0));
            copy.takenBy(kernels);
        }
    }

    /** Returns a parameter in the type of products. */
    Place weight(Of which) {
        long first = first(which);
        return type == DataType.FLOAT ? Slab.of(params).plus(first).place() : copy.place(first * type.width());
    }

    Slab bias() {
        return Slab.of(params).plus(first(Of.BIAS));
    }

    Place gradient(Of which) {
        return Slab.of(gradients).plus(first(which)).place();
    }

    /** Writes zeros to the gradients of all parameters of the recurrence. */
    void clearRecurrentGradients() {
        long first = first(Of.RECURRENT);
        Slab.of(gradients).plus(first).vector(first(Of.BIAS) - first).assign(0);
    }
}
