package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.OptionalDouble;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.PartialGroup;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.ops.transforms.Transforms;

/** Limits of true gradients, compared with what the formulas say of stock DL4J's gradients in FP32. */
class ClippingTest {
    private static final Side PLAIN = new Side(Precision.FLOAT, "dl4j", 1e-5);
    private static final DataSet DATA = Networks.vectors(24, 20, 3);

    private static Stream<Arguments> everywhere() {
        return Stream.concat(Kind.all().map(kind -> Arguments.of(kind, PLAIN)), Kind.everywhere());
    }

    private static Model network(Kind kind) {
        return AccumulationTest.network(kind, conf -> conf.updater(new Sgd(1)));
    }

    /** The mean gradient, in double precision. */
    private static INDArray gradient(Kind kind) {
        Model network = network(kind);
        INDArray before = network.params().castTo(DataType.DOUBLE);
        Kind.fit(network, DATA);
        return before.sub(network.params().castTo(DataType.DOUBLE));
    }

    private static INDArray step(Kind kind, AmpConfig config) {
        Model network = network(kind);
        INDArray before = network.params().castTo(DataType.DOUBLE);
        Sides.enable(network, config);
        Kind.fit(network, DATA);
        return before.sub(network.params().castTo(DataType.DOUBLE));
    }

    private static double norm(INDArray array) {
        return array.norm2Number().doubleValue();
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void theNormIsThatOfTheWholeNetworksTrueGradients(Kind kind, Side side) {
        Model network = network(kind);
        MixedPrecision amp = Sides.enable(
                network, AccumulationTest.config(side).measureGradientNorm(true).build());
        assertEquals(OptionalDouble.empty(), amp.gradientNorm());
        Kind.fit(network, DATA);
        double expected = norm(gradient(kind));
        assertEquals(expected, amp.gradientNorm().orElseThrow(), side.tolerance() * expected);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void theNormIsKnownIfSomethingAsksForIt(Kind kind, Side side) {
        for (var asks : List.<UnaryOperator<AmpConfig.Builder>>of(
                config -> config.clipGradientNorm(1e30),
                config -> config.accumulate(2),
                config -> config.measureGradientNorm(true))) {
            MixedPrecision amp = afterTwoCalls(kind, asks.apply(AccumulationTest.config(side)));
            assertTrue(amp.gradientNorm().isPresent(), amp.config()::toString);
        }
        for (var asksNot : List.<UnaryOperator<AmpConfig.Builder>>of(
                config -> config, config -> config.clipGradientValue(1), config -> config.accumulate(1))) {
            MixedPrecision amp = afterTwoCalls(kind, asksNot.apply(AccumulationTest.config(side)));
            assertEquals(OptionalDouble.empty(), amp.gradientNorm(), amp.config()::toString);
        }
    }

    private static MixedPrecision afterTwoCalls(Kind kind, AmpConfig.Builder config) {
        Model network = network(kind);
        MixedPrecision amp = Sides.enable(network, config.build());
        Kind.fit(network, DATA);
        Kind.fit(network, DATA);
        return amp;
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void aboveTheLimitGradientsKeepTheirDirectionAndHaveTheLimitAsTheirNorm(Kind kind, Side side) {
        INDArray gradient = gradient(kind);
        double limit = norm(gradient) / 3;
        INDArray step =
                step(kind, AccumulationTest.config(side).clipGradientNorm(limit).build());
        assertEquals(limit, norm(step), 1e-4 * limit);
        side.assertClose(gradient.div(3), step, "the step");
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void belowTheLimitNothingChanges(Kind kind, Side side) {
        double limit = 1.5 * norm(gradient(kind));
        assertEquals(
                step(kind, AccumulationTest.config(side).build()),
                step(kind, AccumulationTest.config(side).clipGradientNorm(limit).build()));
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void eachGradientIsClippedByValueAfterTheNormIs(Kind kind, Side side) {
        INDArray gradient = gradient(kind);
        double largest = gradient.amaxNumber().doubleValue();
        INDArray step = step(
                kind,
                AccumulationTest.config(side).clipGradientValue(largest / 4).build());
        side.assertClose(clip(gradient, largest / 4), step, "the step");
        INDArray both = step(
                kind,
                AccumulationTest.config(side)
                        .clipGradientNorm(norm(gradient) / 2)
                        .clipGradientValue(largest / 4)
                        .build());
        side.assertClose(clip(gradient.div(2), largest / 4), both, "the step with both limits");
    }

    private static INDArray clip(INDArray array, double limit) {
        return Transforms.max(Transforms.min(array, limit, true), -limit, true);
    }

    /** RmsProp has no pass of the engine's own. */
    @ParameterizedTest
    @MethodSource("everywhere")
    void itIsClippedBeforeAnyUpdater(Kind kind, Side side) {
        double limit = norm(gradient(kind)) / 5;
        Model plain = AccumulationTest.network(kind, conf -> conf.updater(new RmsProp(0.01, 0.9, 0.1)));
        Model clipped = AccumulationTest.network(kind, conf -> conf.updater(new RmsProp(0.01, 0.9, 0.1)));
        INDArray before = plain.params().dup();
        plain.addListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                model.gradient().gradient().divi(5);
            }
        });
        Sides.enable(
                clipped, AccumulationTest.config(side).clipGradientNorm(limit).build());
        Kind.fit(plain, DATA);
        Kind.fit(clipped, DATA);
        side.assertLearnedAlike(before, plain, clipped);
    }

    /** Their movement is no gradient, however small the limit. */
    @Test
    void runningStatisticsOfBatchNormalizationAreNeitherClippedNorInTheNorm() {
        MultiLayerConfiguration cnn = Networks.cnn();
        MultiLayerNetwork stock = Networks.init(cnn);
        MultiLayerNetwork network = Networks.init(cnn);
        DataSet data = Networks.images(8, 3, 12, 3);
        data.getFeatures().muli(1000);
        MixedPrecision amp = Sides.enable(
                network,
                AccumulationTest.config(PLAIN)
                        .clipGradientNorm(1e-3)
                        .clipGradientValue(1e-4)
                        .build());
        stock.setInput(data.getFeatures());
        stock.setLabels(data.getLabels());
        stock.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
        double squares = 0;
        for (var entry : stock.gradient().gradientForVariable().entrySet()) {
            if (!List.of("1_mean", "1_log10stdev", "5_mean", "5_var").contains(entry.getKey())) {
                double norm = norm(entry.getValue().castTo(DataType.DOUBLE));
                squares += norm * norm;
            }
        }
        stock.fit(data);
        network.fit(data);
        assertEquals(Math.sqrt(squares) / 8, amp.gradientNorm().orElseThrow(), 1e-5 * Math.sqrt(squares));
        for (String name : List.of("1_mean", "1_log10stdev", "5_mean", "5_var")) {
            PLAIN.assertClose(stock.getParam(name), network.getParam(name), name);
        }
    }

    /** Squares of such numbers are beyond FP32's range. */
    @ParameterizedTest
    @ValueSource(doubles = {1e25, 1e-25})
    void theNormIsRightWhateverTheMagnitude(double factor) {
        for (Side side : Side.here().toList()) {
            MultiLayerNetwork network = (MultiLayerNetwork) network(Kind.MULTI_LAYER);
            network.setLearningRate(0);
            network.addListeners(new BaseTrainingListener() {
                @Override
                public void onGradientCalculation(Model model) {
                    model.gradient().gradient().muli(factor);
                }
            });
            MixedPrecision amp = Sides.enable(
                    network,
                    AccumulationTest.config(side).measureGradientNorm(true).build());
            network.fit(DATA);
            double expected = factor * norm(gradient(Kind.MULTI_LAYER));
            assertEquals(1, amp.stepsTaken());
            assertEquals(expected, amp.gradientNorm().orElseThrow(), (side.tolerance() + 1e-5) * expected);
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY, 1e39})
    void aLimitIsAFiniteNumberAbove0(double limit) {
        for (String name : List.of("clipGradientNorm", "clipGradientValue")) {
            AmpException e = assertThrows(AmpException.class, () -> {
                AmpConfig.Builder builder = AmpConfig.builder();
                builder = name.equals("clipGradientNorm")
                        ? builder.clipGradientNorm(limit)
                        : builder.clipGradientValue(limit);
            });
            assertTrue(e.getMessage().contains(name + "(" + limit + ")"), e::getMessage);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -3})
    void aGroupHasAtLeastOneMicroBatch(int size) {
        AmpException e =
                assertThrows(AmpException.class, () -> AmpConfig.builder().accumulate(size));
        assertTrue(e.getMessage().contains("accumulate(" + size + ")"), e::getMessage);
        assertThrows(AmpException.class, () -> AmpConfig.builder().accumulate(2, null));
    }

    @Test
    void settingsTravelInTheConfiguration() {
        AmpConfig config = AmpConfig.builder()
                .accumulate(4, PartialGroup.CARRY_OVER)
                .clipGradientNorm(1.5)
                .clipGradientValue(0.25)
                .measureGradientNorm(true)
                .build();
        MultiLayerConfiguration carried = MultiLayerConfiguration.fromJson(
                MixedPrecision.configure(Networks.mlp(), config).toJson());
        MultiLayerNetwork network = MixedPrecision.network(carried);
        AmpConfig read = MixedPrecision.of(network).orElseThrow().config();
        assertEquals(4, read.accumulate());
        assertEquals(PartialGroup.CARRY_OVER, read.partialGroup());
        assertEquals(OptionalDouble.of(1.5), read.clipGradientNorm());
        assertEquals(OptionalDouble.of(0.25), read.clipGradientValue());
        assertTrue(read.measuresGradientNorm());
        assertEquals(config.toString(), read.toString());
    }
}
