package org.dl4jamp.onednn;

import org.dl4jamp.InferencePassesContract;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Nested;

class InferencePassesTest {
    @Nested
    class InItsFastestPrecision extends InferencePassesContract {
        @Override
        protected AmpConfig config() {
            return AmpConfig.builder().engine("onednn").build();
        }

        @Override
        protected double bound() {
            return 0.02;
        }
    }

    @Nested
    class InFloat extends InferencePassesContract {
        @Override
        protected AmpConfig config() {
            return AmpConfig.builder()
                    .engine("onednn")
                    .precision(Precision.FLOAT)
                    .build();
        }

        @Override
        protected double bound() {
            return 1e-5;
        }
    }
}
