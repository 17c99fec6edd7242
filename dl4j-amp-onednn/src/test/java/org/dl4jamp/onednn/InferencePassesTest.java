package org.dl4jamp.onednn;

import org.dl4jamp.InferencePassesContract;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.CsvSource;

/** Layers in one pass in inference mode on oneDNN, in its fastest precision and in FP32. */
@ParameterizedClass
@CsvSource({"AUTO, 0.02", "FLOAT, 1e-5"})
class InferencePassesTest extends InferencePassesContract {
    InferencePassesTest(Precision precision, double bound) {
        super(AmpConfig.builder().engine("onednn").precision(precision).build(), bound);
    }
}
