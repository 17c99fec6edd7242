package org.dl4jamp.onednn;

import org.dl4jamp.InferenceContract;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Inference mode on oneDNN, in its fastest precision and in FP32. */
@ParameterizedClass
@EnumSource(
        value = Precision.class,
        names = {"AUTO", "FLOAT"})
class InferenceTest extends InferenceContract {
    InferenceTest(Precision precision) {
        super(AmpConfig.builder().engine("onednn").precision(precision).build());
    }
}
