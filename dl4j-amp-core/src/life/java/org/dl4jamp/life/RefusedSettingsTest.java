package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Configs;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.GradientPenalty;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.LossScalerState;
import org.dl4jamp.scale.NoLossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;

/** Settings that would train wrongly, or fail in the middle of training, and are refused with a message before. */
class RefusedSettingsTest {
    private static String message(Runnable call) {
        return assertThrows(AmpException.class, call::run).getMessage();
    }

    private static void assertSays(String message, String... parts) {
        List.of(parts).forEach(part -> assertTrue(message.contains(part), message));
    }

    @ParameterizedTest
    @ValueSource(
            doubles = {
                Double.MIN_VALUE,
                4.9e-324,
                1e-46,
                1.4e-45,
                1e-39,
                0,
                -1,
                3.5e38,
                Double.POSITIVE_INFINITY,
                Double.NaN
            })
    void limitsOutsideOfFp32AreRefused(double limit) {
        AmpConfig.Builder config = AmpConfig.builder();
        assertSays(
                message(() -> config.clipGradientNorm(limit)), "clipGradientNorm(" + limit + "): ", "1.17549435E-38");
        assertSays(
                message(() -> config.clipGradientValue(limit)), "clipGradientValue(" + limit + "): ", "3.4028235E38");
        assertSays(message(() -> GradientPenalty.of(limit, 0.1)), "coefficient is " + limit, "1.17549435E-38");
        assertSays(message(() -> GradientPenalty.of(0.1, limit)), "radius is " + limit, "1.17549435E-38");
    }

    @Test
    void theEndsOfTheRangeAreTaken() {
        for (double limit : new double[] {Float.MIN_NORMAL, Float.MAX_VALUE}) {
            AmpConfig config = AmpConfig.builder()
                    .clipGradientNorm(limit)
                    .clipGradientValue(limit)
                    .gradientPenalty(GradientPenalty.of(limit, limit))
                    .build();
            assertEquals(limit, config.clipGradientNorm().orElseThrow());
            assertEquals(limit, config.clipGradientValue().orElseThrow());
        }
    }

    @Test
    void twoScalersAreRefusedWhicheverComesFirst() {
        LossScaler scaler = new StaticLossScaler(8);
        List<Consumer<AmpConfig.Builder>> calls = List.of(
                config -> config.lossScaler(scaler), config -> config.sharedLossScale(new SharedLossScale(scaler)));
        List<String> names = List.of("lossScaler(", "sharedLossScale(");
        for (int first = 0; first < 2; first++) {
            for (int second = 0; second < 2; second++) {
                AmpConfig.Builder config = AmpConfig.builder();
                calls.get(first).accept(config);
                Consumer<AmpConfig.Builder> call = calls.get(second);
                if (first == second) {
                    call.accept(config);
                } else {
                    String message = message(() -> call.accept(config));
                    assertTrue(message.startsWith(names.get(second)), message);
                    assertSays(message, "have " + names.get(first));
                }
                assertTrue(config.build().toString().contains('.' + names.get(first)));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aSharedScaleAndTruncatedBackpropagationAreRefusedTogether(Kind kind) {
        Model network = kind == Kind.GRAPH ? Networks.init(truncatedGraph()) : Networks.init(Networks.truncatedLstm());
        SharedLossScale shared = new SharedLossScale(DynamicLossScaler.builder().build());
        for (Precision precision : List.of(Precision.HALF, Precision.FLOAT)) {
            AmpConfig config = AmpConfig.builder()
                    .precision(precision)
                    .engine("nd4j")
                    .sharedLossScale(shared)
                    .build();
            assertSays(
                    message(() -> Sides.enable(network, config)),
                    "sharedLossScale: ",
                    "truncated backpropagation",
                    "lossScaler(");
            assertFalse(Side.isEnabled(network));
        }
        AmpConfig instead = Configs.half(shared.scaler());
        MixedPrecision amp = Sides.enable(network, instead);
        Kind.fit(network, Networks.sequences(4, 5, 3, 8));
        assertEquals(2, amp.stepsTaken() + amp.stepsSkipped());
    }

    private static ComputationGraphConfiguration truncatedGraph() {
        return Networks.builder(new Sgd(0.1))
                .graphBuilder()
                .addInputs("in")
                .addLayer("lstm", new LSTM.Builder().nOut(16).build(), "in")
                .addLayer("out", Networks.rnnSoftmax(3), "lstm")
                .setOutputs("out")
                .setInputTypes(InputType.recurrent(5))
                .backpropType(BackpropType.TruncatedBPTT)
                .tBPTTLength(4)
                .build();
    }

    /** A user's scaler with a given scale. */
    private record Own(DoubleSupplier given, boolean copies) implements LossScaler {
        @Override
        public double scale() {
            return given.getAsDouble();
        }

        @Override
        public void update(boolean overflow) {}

        @Override
        public LossScalerState state() {
            return new NoLossScaler().state();
        }

        @Override
        public void restore(LossScalerState state) {}

        @Override
        public LossScaler copy() {
            return copies ? this : null;
        }

        @Override
        public String toString() {
            return "my scaler";
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {Double.NaN, -4, 0, -0.0, 1e-39, 1e300, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY})
    void aScaleThatIsNoneIsRefusedWheneverItIsGiven(double scale) {
        for (Kind kind : Kind.values()) {
            double[] given = {scale};
            Own own = new Own(() -> given[0], true);
            Model network = kind.network();
            String refusal = "lossScaler: scale() of my scaler returned " + scale + "; ";
            assertSays(
                    message(() -> Sides.enable(network, Configs.half(own))), refusal, "1.17549435E-38 to 3.4028235E38");
            assertFalse(Side.isEnabled(network));
            given[0] = 256;
            MixedPrecision amp = Sides.enable(network, Configs.half(own));
            DataSet data = Kind.data();
            Kind.fit(network, data);
            INDArray before = network.params().dup();
            given[0] = scale;
            assertSays(message(() -> Kind.fit(network, data)), refusal);
            assertEquals(0, before.distance2(network.params()));
            given[0] = 256;
            Kind.fit(network, data);
            assertEquals(2, amp.stepsTaken());
            assertTrue(before.distance2(network.params()) > 0);
        }
    }

    @Test
    void aScalerThatHasNoCopyIsNamed() {
        Model network = Kind.MULTI_LAYER.network();
        assertSays(
                message(() -> Sides.enable(network, Configs.half(new Own(() -> 2, false)))),
                "lossScaler(my scaler).copy()");
        assertFalse(Side.isEnabled(network));
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aClosedNetworkIsRefused(Kind kind) {
        Model network = kind.network();
        if (network instanceof ComputationGraph graph) {
            graph.close();
        } else {
            ((MultiLayerNetwork) network).close();
        }
        AmpConfig config = AmpConfig.builder().precision(Precision.FLOAT).build();
        assertSays(message(() -> MixedPrecision.enable(network)), "network: it is closed");
        assertSays(message(() -> MixedPrecision.enable(network, config)), "network: it is closed");
        assertSays(message(() -> MixedPrecision.inference(network, config)), "network: it is closed");
        assertTrue(MixedPrecision.of(network).isEmpty());
    }
}
