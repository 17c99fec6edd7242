package org.dl4jamp.onednn;

import org.dl4jamp.InferenceContract;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Nested;

/** Inference mode on oneDNN. */
class InferenceTest {
    @Nested
    class InItsFastestPrecision extends InferenceContract {
        @Override
        protected AmpConfig config() {
            return AmpConfig.builder().engine("onednn").build();
        }
    }

    @Nested
    class InFloat extends InferenceContract {
        @Override
        protected AmpConfig config() {
            return AmpConfig.builder()
                    .engine("onednn")
                    .precision(Precision.FLOAT)
                    .build();
        }
    }
}
