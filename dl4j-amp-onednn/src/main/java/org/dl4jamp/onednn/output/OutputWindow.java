package org.dl4jamp.onednn.output;

import java.lang.invoke.VarHandle;
import org.deeplearning4j.nn.layers.ocnn.OCNNOutputLayer;
import org.dl4jamp.dl4j.HiddenFields;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.INDArrayIndex;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * The outputs of an epoch that a layer for one class keeps. They stay in DL4J's layer, which goes on with them when
 * mixed precision is closed, or computes a batch itself.
 *
 * @param filled the number of outputs of the epoch so far, which may be more than are kept
 */
record OutputWindow(OCNNOutputLayer layer, int filled) {
    private static final VarHandle KEPT = HiddenFields.field(OCNNOutputLayer.class, "window", INDArray.class);
    private static final VarHandle FILLED =
            HiddenFields.field(OCNNOutputLayer.class, "batchWindowSizeIndex", int.class);

    static OutputWindow of(OCNNOutputLayer layer) {
        return new OutputWindow(layer, (int) FILLED.get(layer));
    }

    /** Returns the outputs; null before the layer's first backward pass. */
    private INDArray kept() {
        return (INDArray) KEPT.get(layer);
    }

    private void set(INDArray outputs, int count) {
        KEPT.set(layer, outputs);
        FILLED.set(layer, count);
    }

    private static INDArrayIndex[] range(long from, long count) {
        return new INDArrayIndex[] {NDArrayIndex.interval(from, from + count)};
    }

    /** Appends the outputs of a batch of the first epoch, as far as there is space. */
    void append(INDArray outputs, int size) {
        INDArray before = kept();
        INDArray kept = before == null
                ? Nd4j.createUninitializedDetached(outputs.dataType(), size).assign(0.0)
                : before;
        long count = Math.min(outputs.length(), kept.length() - filled);
        if (count > 0) {
            kept.put(range(filled, count), outputs.get(range(0, count)));
        }
        set(kept, filled + (int) outputs.length());
    }

    /**
     * Returns the quantile of the last epoch's outputs, and begins another epoch.
     *
     * @param nu between 0 and 1
     */
    double quantile(double nu) {
        INDArray kept = kept();
        double quantile = kept.percentileNumber(100.0 * nu).doubleValue();
        set(kept, 0);
        return quantile;
    }

    /** Writes the outputs of a batch of a later epoch over those of the batch before, as DL4J does. */
    void overwrite(INDArray outputs) {
        kept().put(range(filled, outputs.length()), outputs);
    }
}
