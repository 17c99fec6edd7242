package org.dl4jamp;

import org.dl4jamp.scale.StaticLossScaler;
import org.nd4j.linalg.api.ndarray.INDArray;

/** HALF rounds to 11 bits. */
class FrozenBatchNormTest extends FrozenBatchNormClaims {
    FrozenBatchNormTest() {
        super(Configs.half(new StaticLossScaler(16)), 0.01);
    }

    @Override
    protected void assertAgrees(INDArray expected, INDArray actual, String what) {
        Comparison.assertClose(expected, actual, 0.01, what);
    }
}
