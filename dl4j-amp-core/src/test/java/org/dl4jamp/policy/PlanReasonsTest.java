package org.dl4jamp.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.dl4jamp.config.PrecisionRule;
import org.dl4jamp.engine.nd4j.Nd4jEngine;
import org.dl4jamp.precision.LayerFamily;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.precision.SensitiveActivation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;

/** A plan's reasons are those of its own precision. */
class PlanReasonsTest {
    private static final List<Precision> HALVES = List.of(Precision.HALF, Precision.BFLOAT16);

    private static List<Layer> layers() {
        List<Layer> layers = new ArrayList<>();
        for (Layer between : List.of(
                Plans.batchNorm("norm"),
                new LocalResponseNormalization.Builder().build(),
                new ActivationLayer(Activation.RELU),
                new ActivationLayer(Activation.SOFTMAX),
                new ActivationLayer(Activation.CUBE),
                new DropoutLayer(0.5),
                new MaskZeroLayer(
                        new LSTM.Builder()
                                .nIn(4)
                                .nOut(4)
                                .dataFormat(RNNFormat.NWC)
                                .build(),
                        0),
                new EmbeddingSequenceLayer.Builder().nIn(9).nOut(4).build())) {
            layers.add(Plans.conv("conv " + layers.size()));
            layers.add(between);
        }
        for (PoolingType pooling : PoolingType.values()) {
            layers.add(Plans.conv("conv " + layers.size()));
            layers.add(new GlobalPoolingLayer.Builder(pooling).pnorm(2).build());
            layers.add(Plans.conv("conv " + layers.size()));
            SubsamplingLayer window = new SubsamplingLayer.Builder(2, 2).build();
            window.setPoolingType(pooling);
            window.setPnorm(2);
            layers.add(window);
        }
        layers.add(Plans.output("out"));
        return layers;
    }

    private static PrecisionPlan plan(Precision precision, OptLevel level, EngineAbility engine) {
        List<PrecisionRule> rules = level == OptLevel.O1
                ? List.of(new PrecisionRule.ByClass(LayerKind.LOWER, GlobalPoolingLayer.class))
                : List.of();
        return PrecisionPlanner.plan(
                Plans.chain(layers().toArray(Layer[]::new)), precision, level, rules, engine, null);
    }

    private static Stream<EngineAbility> engines() {
        return Stream.of(
                Plans.Engine.ABLE,
                Plans.Engine.KEEPING_LOSS,
                new Plans.Engine(SubsamplingLayer.class),
                new Nd4jEngine());
    }

    @ParameterizedTest
    @EnumSource(OptLevel.class)
    void noReasonNamesThePrecisionOfAnotherPlan(OptLevel level) {
        for (Precision precision : HALVES) {
            Precision other = precision == Precision.HALF ? Precision.BFLOAT16 : Precision.HALF;
            engines().forEach(engine -> {
                PrecisionPlan plan = plan(precision, level, engine);
                assertEquals(layers().size(), plan.rows().size());
                for (PrecisionPlan.Row row : plan.rows()) {
                    assertFalse(row.reason().isBlank(), row.name());
                    assertFalse(row.reason().contains(other.name()), precision + ": " + row);
                }
                assertFalse(plan.toString().contains(other.name()), plan::toString);
            });
        }
    }

    @Test
    void aLayerThatTakesHalfAndEndsTheNetworkSaysWhyItsOutputIsInFp32() {
        Layer function = new ActivationLayer(Activation.RELU);
        function.setLayerName("last");
        PrecisionPlan plan = PrecisionPlanner.plan(
                Plans.chain(Plans.dense("dense"), function),
                Precision.HALF,
                OptLevel.O1,
                List.of(),
                Plans.Engine.ABLE,
                null);
        PrecisionPlan.Row last = plan.row("last");
        assertEquals(Precision.HALF, last.input());
        assertEquals(Precision.FLOAT, last.output());
        assertTrue(last.reason().contains("; output in FP32: "), last::reason);
    }

    /** They are the same in plans of either precision. */
    @ParameterizedTest
    @EnumSource(LayerFamily.class)
    void reasonsOfAClassOfLayersNameFp32Only(LayerFamily family) {
        assertNamesNoHalf(family.reason());
    }

    @ParameterizedTest
    @EnumSource(SensitiveActivation.class)
    void reasonsOfActivationFunctionsNameFp32Only(SensitiveActivation activation) {
        assertNamesNoHalf(activation.reason());
    }

    @ParameterizedTest
    @EnumSource(PoolingType.class)
    void reasonsOfPoolingNameFp32Only(PoolingType pooling) {
        assertNamesNoHalf(LayerKinds.verdict(new GlobalPoolingLayer(pooling)).reason());
    }

    private static void assertNamesNoHalf(String reason) {
        assertTrue(
                Arrays.stream(Precision.values())
                        .map(Precision::name)
                        .filter(name -> !name.equals("FLOAT"))
                        .noneMatch(reason::contains),
                reason);
    }
}
