package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.zoo.model.ResNet50;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

/** The first hundred steps of networks of real shape in HALF: none is skipped. */
@Tag("long")
class FirstStepsTest {
    private static final int STEPS = 100;

    static Stream<Arguments> networks() {
        Model resnet = ResNet50.builder()
                .numClasses(4)
                .inputShape(new int[] {3, 96, 96})
                .updater(new Adam(1e-3))
                .build()
                .init();
        return Stream.of(
                Arguments.of("ResNet-50", resnet, Networks.images(8, 3, 96, 4).batchBy(2)),
                Arguments.of(
                        "LSTM",
                        Networks.init(Networks.lstm()),
                        Networks.sequences(64, 5, 3, 20).batchBy(16)),
                Arguments.of(
                        "MLP",
                        Networks.init(Networks.mlp()),
                        Networks.vectors(128, 20, 3).batchBy(32)));
    }

    private static AmpConfig.Builder half() {
        return AmpConfig.builder().precision(Precision.HALF).engine("nd4j");
    }

    private static double train(Model network, List<DataSet> batches) {
        double loss = 0;
        for (int step = 0; step < STEPS; step++) {
            Networks.fit(network, batches.get(step % batches.size()));
            loss += step < STEPS - batches.size() ? 0 : network.score() / batches.size();
        }
        return loss;
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("networks")
    void noneIsSkippedAndTheyEndWhereThoseWithSkippedStepsDo(String name, Model network, List<DataSet> batches) {
        Model skipping = Networks.copy(network);
        MixedPrecision amp = MixedPrecision.enable(network, half().build());
        MixedPrecision other =
                MixedPrecision.enable(skipping, half().scaleSearch(0).build());
        double loss = train(network, batches);
        double ofOther = train(skipping, batches);
        assertEquals(0, amp.stepsSkipped());
        assertEquals(STEPS, amp.stepsTaken());
        assertEquals(other.lossScale(), amp.lossScale(), amp.lossScale() / 2, "but for the luck of a batch");
        assertTrue(loss <= ofOther * 1.2 + 0.05, () -> name + ": " + loss + " and, with skips, " + ofOther);
    }
}
