package org.dl4jamp.onednn;

import org.dl4jamp.ModesAndThreadsContract;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;

/** In FP32, where a pass of two sets of layers differs from stock DL4J's by far more than roundings do. */
class ModesAndThreadsTest extends ModesAndThreadsContract {
    @Override
    protected AmpConfig config() {
        return AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();
    }

    @Override
    protected double bound() {
        return 1e-5;
    }
}
