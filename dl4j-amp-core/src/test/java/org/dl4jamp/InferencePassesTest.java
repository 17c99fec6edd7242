package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Layers in one pass in inference mode on the portable engine. */
@ParameterizedClass
@CsvSource({"HALF, 0.005", "BFLOAT16, 0.02"})
class InferencePassesTest extends InferencePassesContract {
    InferencePassesTest(Precision precision, double bound) {
        super(AmpConfig.builder().engine("nd4j").precision(precision).build(), bound);
        Comparison.assumeComputed(precision);
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
}
