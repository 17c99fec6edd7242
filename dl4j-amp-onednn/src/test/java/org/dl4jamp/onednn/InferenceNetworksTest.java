package org.dl4jamp.onednn;

import org.dl4jamp.InferenceNetworksContract;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Networks of all kinds in inference mode on oneDNN, in its fastest precision and in FP32. */
@ParameterizedClass
@EnumSource(
        value = Precision.class,
        names = {"AUTO", "FLOAT"})
class InferenceNetworksTest extends InferenceNetworksContract {
    InferenceNetworksTest(Precision precision) {
        super(AmpConfig.builder().engine("onednn").precision(precision).build());
    }
}
