package org.dl4jamp;

import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Nested;

/** Networks of all kinds in inference mode on the portable engine. */
class InferenceNetworksTest {
    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("nd4j").precision(precision).build();
    }

    @Nested
    class InHalf extends InferenceNetworksContract {
        @Override
        protected AmpConfig config() {
            return InferenceNetworksTest.config(Precision.HALF);
        }
    }

    @Nested
    class InBfloat16 extends InferenceNetworksContract {
        @Override
        protected AmpConfig config() {
            return InferenceNetworksTest.config(Precision.BFLOAT16);
        }
    }

    @Nested
    class InFloat extends InferenceNetworksContract {
        @Override
        protected AmpConfig config() {
            return InferenceNetworksTest.config(Precision.FLOAT);
        }
    }
}
