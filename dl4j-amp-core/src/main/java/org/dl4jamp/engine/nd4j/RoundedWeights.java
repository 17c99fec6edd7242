package org.dl4jamp.engine.nd4j;

import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The master weights rounded to half precision, and the rounded ones in FP32 for a twin that computes in it.
 *
 * @param master the layer's FP32 parameters
 * @param rounded receives them in HALF or BFLOAT16
 * @param scratch receives the rounded weights in FP32; null if they aren't used in FP32. Other layers may use it, too
 * @param keepsMaster whether the FP32 parameters keep their digits
 */
record RoundedWeights(INDArray master, INDArray rounded, INDArray scratch, boolean keepsMaster)
        implements Twin.Weights {
    @Override
    public void refresh() {
        rounded.assign(master);
        reload();
    }

    @Override
    public void stepDone() {
        if (!keepsMaster) {
            rounded.assign(master);
            master.assign(rounded);
        }
    }

    @Override
    public void reload() {
        if (scratch != null) {
            scratch.assign(rounded);
        }
    }
}
