package org.dl4jamp;

import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Networks of all kinds in inference mode on the portable engine. */
@ParameterizedClass
@EnumSource(
        value = Precision.class,
        names = {"HALF", "BFLOAT16", "FLOAT"})
class InferenceNetworksTest extends InferenceNetworksContract {
    InferenceNetworksTest(Precision precision) {
        super(AmpConfig.builder().engine("nd4j").precision(precision).build());
        if (precision.isHalf()) {
            Comparison.assumeComputed(precision);
        }
    }
}
