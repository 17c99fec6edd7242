package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.GradientsViewClaims;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** A gradient view that is made anew, while this engine's updaters move the parameters. */
class GradientsViewTest extends GradientsViewClaims {
    private static final AmpConfig CONFIG =
            AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();

    GradientsViewTest() {
        super(CONFIG);
    }

    static Stream<Arguments> networks() {
        return Stream.of(
                Arguments.of("a network", Networks.init(Networks.cnn()), Networks.images(8, 3, 12, 3)),
                Arguments.of("a graph", Networks.init(Networks.residual()), Networks.images(8, 3, 8, 3)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("networks")
    void trainingGoesOnOverTheNewView(String what, Model undisturbed, DataSet images) {
        Model network = Networks.copy(undisturbed);
        MixedPrecision.enable(undisturbed, CONFIG);
        MixedPrecision amp = MixedPrecision.enable(network, CONFIG);
        for (int step = 0; step < 6; step++) {
            if (step == 2) {
                Networks.renewGradientsView(network);
            }
            Networks.fit(undisturbed, images);
            Networks.fit(network, images);
        }
        assertEquals(6, amp.stepsTaken());
        assertClose(undisturbed.params(), network.params());
        amp.close();
        assertClose(undisturbed.params(), network.params());
    }

    private static void assertClose(INDArray expected, INDArray actual) {
        double difference = expected.sub(actual).norm2Number().doubleValue();
        assertEquals(0, difference / expected.norm2Number().doubleValue(), 1e-5);
    }
}
