package org.dl4jamp;

import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;

class ModesAndThreadsTest extends ModesAndThreadsContract {
    @Override
    protected AmpConfig config() {
        return AmpConfig.builder().engine("nd4j").precision(Precision.HALF).build();
    }

    /**
     * Half precision is that far from stock DL4J's. A batch normalization that is missing, or applied twice, isn't near
     * it.
     */
    @Override
    protected double bound() {
        return 0.02;
    }
}
