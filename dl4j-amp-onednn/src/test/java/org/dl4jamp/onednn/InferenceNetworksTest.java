package org.dl4jamp.onednn;

import org.dl4jamp.InferenceNetworksContract;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Nested;

/** Networks of all kinds in inference mode on oneDNN. */
class InferenceNetworksTest {
    @Nested
    class InItsFastestPrecision extends InferenceNetworksContract {
        @Override
        protected AmpConfig config() {
            return AmpConfig.builder().engine("onednn").build();
        }
    }

    @Nested
    class InFloat extends InferenceNetworksContract {
        @Override
        protected AmpConfig config() {
            return AmpConfig.builder()
                    .engine("onednn")
                    .precision(Precision.FLOAT)
                    .build();
        }
    }
}
