package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;

class InferencePassesTest {
    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().engine("nd4j").precision(precision).build();
    }

    @Test
    void whereAllIsLeftToDl4jThePlanNamesNoGroups() {
        MultiLayerNetwork network = Networks.init(Networks.cnn());
        INDArray features = Networks.images(6, 3, 12, 3).getFeatures();
        INDArray expected = network.output(features);
        AmpConfig config = AmpConfig.builder().engine("dl4j").build();
        try (InferenceMode mode = MixedPrecision.inference(network, config)) {
            assertEquals(expected, network.output(features));
            String plan = mode.plan().toString();
            assertFalse(plan.contains("folded") || plan.contains("in one pass"), plan);
        }
    }

    @Nested
    class InHalf extends InferencePassesContract {
        @Override
        protected AmpConfig config() {
            return InferencePassesTest.config(Precision.HALF);
        }

        @Override
        protected double bound() {
            return 0.005;
        }
    }

    @Nested
    class InBfloat16 extends InferencePassesContract {
        @Override
        protected AmpConfig config() {
            return InferencePassesTest.config(Precision.BFLOAT16);
        }

        @Override
        protected double bound() {
            return 0.02;
        }
    }
}
