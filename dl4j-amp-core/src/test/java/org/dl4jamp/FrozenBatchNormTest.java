package org.dl4jamp;

import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.nd4j.linalg.api.ndarray.INDArray;

/** HALF rounds to 11 bits. */
class FrozenBatchNormTest extends FrozenBatchNormClaims {
    FrozenBatchNormTest() {
        super(
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .engine("nd4j")
                        .lossScaler(new StaticLossScaler(16))
                        .build(),
                0.01);
    }

    @Override
    protected void assertAgrees(INDArray expected, INDArray actual, String what) {
        Comparison.assertClose(expected, actual, 0.01, what);
    }
}
