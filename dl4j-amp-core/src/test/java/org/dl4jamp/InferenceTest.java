package org.dl4jamp;

import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Nested;

/** Inference mode on the portable engine. */
class InferenceTest {
    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("nd4j").precision(precision).build();
    }

    @Nested
    class InHalf extends InferenceContract {
        @Override
        protected AmpConfig config() {
            return InferenceTest.config(Precision.HALF);
        }
    }

    @Nested
    class InBfloat16 extends InferenceContract {
        @Override
        protected AmpConfig config() {
            return InferenceTest.config(Precision.BFLOAT16);
        }
    }

    @Nested
    class InFloat extends InferenceContract {
        @Override
        protected AmpConfig config() {
            return InferenceTest.config(Precision.FLOAT);
        }
    }
}
