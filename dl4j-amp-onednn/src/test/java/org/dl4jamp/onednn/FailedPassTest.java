package org.dl4jamp.onednn;

import org.dl4jamp.FailedPassContract;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;

class FailedPassTest extends FailedPassContract {
    @Override
    protected AmpConfig config() {
        return AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();
    }

    @Override
    protected double bound() {
        return 1e-5;
    }
}
