package org.dl4jamp.onednn.normalization;

import org.dl4jamp.FrozenBatchNormClaims;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.ndarray.INDArray;

/** FP32 in another order of summands. */
class FrozenBatchNormTest extends FrozenBatchNormClaims {
    FrozenBatchNormTest() {
        super(AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build(), 1e-5);
    }

    @Override
    protected void assertAgrees(INDArray expected, INDArray actual, String what) {
        Agreement.assertWithin(what, expected, actual, 1e-5);
    }
}
