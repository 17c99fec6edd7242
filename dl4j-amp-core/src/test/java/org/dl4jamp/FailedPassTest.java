package org.dl4jamp;

import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;

class FailedPassTest extends FailedPassContract {
    @Override
    protected AmpConfig config() {
        return AmpConfig.builder().engine("nd4j").precision(Precision.HALF).build();
    }

    @Override
    protected double bound() {
        return 1e-2;
    }
}
