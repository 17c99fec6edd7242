package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.GradientPenalty;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;

/** In its first steps a network finds the loss scale that fits, and skips none of them. */
class ScaleSearchTest {
    private static final double TOO_LARGE = 0x1p24;

    private static DynamicLossScaler.Builder tooLarge() {
        return DynamicLossScaler.builder().initialScale(TOO_LARGE);
    }

    private static AmpConfig.Builder half() {
        return AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .lossScaler(tooLarge().build());
    }

    /** Counts the backward passes that it is notified of. */
    private static final class Passes extends BaseTrainingListener {
        private int forward;
        private int backward;

        @Override
        public void onGradientCalculation(Model model) {
            backward++;
        }

        @Override
        public void onBackwardPass(Model model) {
            forward++;
        }
    }

    /** Makes the gradients of each pass infinite, or of one. */
    private static final class Infinite extends BaseTrainingListener {
        private final int only;
        private int passes;

        Infinite(int only) {
            this.only = only;
        }

        @Override
        public void onGradientCalculation(Model model) {
            if (only < 0 || passes == only) {
                model.gradient().gradient().putScalar(5, Float.POSITIVE_INFINITY);
            }
            passes++;
        }
    }

    static Stream<Arguments> networks() {
        return Stream.of(
                Arguments.of("mlp", Networks.init(Networks.mlp()), Networks.vectors(16, 20, 3)),
                Arguments.of("cnn", Networks.init(Networks.cnn()), Networks.images(8, 3, 12, 3)),
                Arguments.of("lstm", Networks.init(Networks.lstm()), Networks.maskedSequences(6, 5, 3, 7)),
                Arguments.of("graph", Networks.init(Networks.residual()), Networks.images(8, 3, 8, 3)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("networks")
    void noStepIsSkippedAndTheScaleIsThatOfSkippedSteps(String name, Model network, DataSet data) {
        Model fp32 = Networks.copy(network);
        Model skipping = Networks.copy(network);
        MixedPrecision amp = MixedPrecision.enable(network, half().build());
        MixedPrecision other =
                MixedPrecision.enable(skipping, half().scaleSearch(0).build());
        Networks.fit(network, data);
        Networks.fit(fp32, data);
        while (other.stepsTaken() == 0) {
            Networks.fit(skipping, data);
        }
        assertTrue(other.stepsSkipped() > 0, "the first scale is too large");
        assertEquals(0, amp.stepsSkipped());
        assertEquals(1, amp.stepsTaken());
        assertEquals(other.lossScale(), amp.lossScale());
        assertEquals(
                skipping.params(), network.params(), "the step is the one that the skipping network makes at last");
        assertClose(fp32, network);
    }

    private static void assertClose(Model fp32, Model network) {
        double distance = fp32.params().distance2(network.params());
        assertTrue(distance < 0.02 * fp32.params().norm2Number().doubleValue(), () -> "distance " + distance);
    }

    @Test
    void aSearchRunsAsManyPassesAsTheScaleHasHalvings() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MixedPrecision amp = MixedPrecision.enable(network, half().build());
        Passes passes = new Passes();
        network.setListeners(passes);
        network.fit(Networks.vectors(16, 20, 3));
        int halvings = (int) Math.round(Math.log(TOO_LARGE / amp.lossScale()) / Math.log(2));
        assertTrue(halvings > 0);
        assertEquals(1 + halvings, passes.backward);
        assertEquals(1 + halvings, passes.forward);
        network.fit(Networks.vectors(16, 20, 3));
        assertEquals(2 + halvings, passes.backward, "a step that doesn't overflow has one pass");
    }

    @Test
    void anOverflowAfterTheFirstStepsSkipsOne() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MixedPrecision amp = MixedPrecision.enable(
                network,
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .engine("nd4j")
                        .scaleSearch(2)
                        .build());
        network.setListeners(new Infinite(3));
        for (int i = 0; i < 4; i++) {
            network.fit(Networks.vectors(16, 20, 3));
        }
        assertEquals(1, amp.stepsSkipped());
        assertEquals(3, amp.stepsTaken());
    }

    @Test
    void anOverflowAmongTheFirstStepsSkipsNone() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        AmpConfig config =
                AmpConfig.builder().precision(Precision.HALF).engine("nd4j").build();
        MixedPrecision amp = MixedPrecision.enable(network, config);
        network.setListeners(new Infinite(3));
        for (int i = 0; i < 4; i++) {
            network.fit(Networks.vectors(16, 20, 3));
        }
        assertEquals(0, amp.stepsSkipped());
        assertEquals(4, amp.stepsTaken());
        assertEquals(32768, amp.lossScale());
    }

    @Test
    void whereNoScaleHelpsOneStepIsSkippedAndNoneSearchesAgain() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MixedPrecision amp = MixedPrecision.enable(network, half().build());
        Passes passes = new Passes();
        network.setListeners(new Infinite(-1), passes);
        INDArray before = network.params().dup();
        network.fit(Networks.vectors(16, 20, 3));
        assertEquals(1, amp.stepsSkipped());
        assertEquals(TOO_LARGE / 2, amp.lossScale(), "as after one skipped step");
        assertEquals(before, network.params());
        int searched = passes.backward;
        assertEquals(1 + 38, searched, "down to the smallest scale, 2^-14");
        network.fit(Networks.vectors(16, 20, 3));
        assertEquals(searched + 1, passes.backward);
        assertEquals(TOO_LARGE / 4, amp.lossScale());
    }

    @Test
    void aBatchThatIsNotFiniteIsToldApart() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MixedPrecision amp = MixedPrecision.enable(network, half().build());
        Passes passes = new Passes();
        network.setListeners(passes);
        DataSet bad = Networks.vectors(16, 20, 3);
        bad.getFeatures().putScalar(2, 3, Double.NaN);
        network.fit(bad);
        assertEquals(1, amp.stepsSkipped());
        assertEquals(TOO_LARGE, amp.lossScale());
        assertEquals(1, passes.backward);
        network.fit(Networks.vectors(16, 20, 3));
        assertEquals(1, amp.stepsTaken(), "the next batch searches");
        assertEquals(1, amp.stepsSkipped());
    }

    static Stream<Arguments> exceptions() {
        return Stream.of(
                Arguments.of(
                        "a shared scale",
                        Networks.init(Networks.mlp()),
                        Networks.vectors(16, 20, 3),
                        (UnaryOperator<AmpConfig.Builder>) config -> AmpConfig.builder()
                                .precision(Precision.HALF)
                                .engine("nd4j")
                                .sharedLossScale(new SharedLossScale(tooLarge().build()))),
                Arguments.of(
                        "a fixed scale", Networks.init(Networks.mlp()), Networks.vectors(16, 20, 3), (UnaryOperator<
                                        AmpConfig.Builder>)
                                config -> config.lossScaler(new StaticLossScaler(TOO_LARGE))),
                Arguments.of(
                        "truncated backpropagation through time",
                        Networks.init(Networks.truncatedLstm()),
                        Networks.sequences(4, 5, 3, 4),
                        UnaryOperator.<AmpConfig.Builder>identity()));
    }

    @ParameterizedTest(name = "with {0}")
    @MethodSource("exceptions")
    void stepsAreSkippedAsEver(
            String name, MultiLayerNetwork network, DataSet data, UnaryOperator<AmpConfig.Builder> with) {
        MixedPrecision amp = MixedPrecision.enable(network, with.apply(half()).build());
        Passes passes = new Passes();
        network.setListeners(passes);
        network.fit(data);
        assertEquals(1, amp.stepsSkipped());
        assertEquals(1, passes.backward);
    }

    @Test
    void hysteresisIsKept() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MixedPrecision amp = MixedPrecision.enable(
                network, half().lossScaler(tooLarge().hysteresis(3).build()).build());
        MultiLayerNetwork one = Networks.init(Networks.mlp());
        MixedPrecision ofOne = MixedPrecision.enable(one, half().build());
        network.fit(Networks.vectors(16, 20, 3));
        one.fit(Networks.vectors(16, 20, 3));
        assertEquals(0, amp.stepsSkipped());
        assertEquals(ofOne.lossScale(), amp.lossScale());
        assertEquals(one.params(), network.params());
    }

    @ParameterizedTest(name = "micro-batch {0}")
    @ValueSource(ints = {0, 1, 2})
    void aMicroBatchThatOverflowsIsComputedAgainAndNoneIsLost(int overflowing) {
        MultiLayerNetwork fp32 = Networks.init(Networks.mlp());
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MixedPrecision amp = MixedPrecision.enable(
                network,
                half().lossScaler(DynamicLossScaler.builder().initialScale(1024).build())
                        .accumulate(3)
                        .build());
        network.addListeners(new Infinite(overflowing));
        DataSet all = Networks.vectors(24, 20, 3);
        for (DataSet part : all.batchBy(8)) {
            network.fit(part);
        }
        fp32.fit(all);
        assertEquals(0, amp.stepsSkipped());
        assertEquals(1, amp.stepsTaken());
        assertEquals(512, amp.lossScale());
        assertClose(fp32, network);
    }

    @Test
    void thePenaltyIsAddedToTheGradientsThatFit() {
        MultiLayerNetwork fp32 = Networks.init(Networks.mlp());
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        AmpConfig.Builder penalized = AmpConfig.builder().gradientPenalty(GradientPenalty.of(0.06, 0.2));
        MixedPrecision.enable(
                fp32, penalized.precision(Precision.FLOAT).engine("nd4j").build());
        MixedPrecision amp = MixedPrecision.enable(
                network, half().gradientPenalty(GradientPenalty.of(0.06, 0.2)).build());
        DataSet data = Networks.vectors(16, 20, 3);
        fp32.fit(data);
        network.fit(data);
        assertEquals(0, amp.stepsSkipped());
        assertClose(fp32, network);
    }

    @Test
    void dropoutDrawsNewNumbersAndTheScoreIsThatOfTheLastPass() {
        MultiLayerNetwork network = Networks.init(Networks.dropout(new Sgd(0.1)));
        double[] first = {Double.NaN};
        network.setListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                if (Double.isNaN(first[0])) {
                    first[0] = model.score();
                }
            }
        });
        MixedPrecision amp = MixedPrecision.enable(network, half().build());
        network.fit(Networks.vectors(16, 20, 3));
        assertEquals(0, amp.stepsSkipped());
        assertTrue(Double.isFinite(network.score()));
        assertNotEquals(first[0], network.score());
    }

    @Test
    void aStateGoesOnWithTheStepsThatAreLeft() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        AmpConfig config = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .scaleSearch(2)
                .build();
        DataSet data = Networks.vectors(16, 20, 3);
        AmpState state;
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            network.fit(data);
            network.fit(data);
            state = amp.state();
        }
        MixedPrecision resumed = MixedPrecision.enable(network, state);
        network.setListeners(new Infinite(0));
        network.fit(data);
        assertEquals(1, resumed.stepsSkipped());
        assertEquals(2, resumed.config().scaleSearch());
    }

    @Test
    void gradientsByHandAreLeftAsTheyWere() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MultiLayerNetwork fp32 = network.clone();
        DataSet data = Networks.vectors(16, 20, 3);
        MixedPrecision.enable(network, half().build());
        Map<String, INDArray> expected = Gradients.of(fp32, data);
        Gradients.assertAligned(expected, Gradients.of(network, data), 0.999);
        assertFalse(Map.of().equals(expected));
    }
}
