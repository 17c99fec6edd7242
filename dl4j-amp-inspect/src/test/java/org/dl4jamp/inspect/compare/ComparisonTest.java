package org.dl4jamp.inspect.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inspect.compare.Verdict.Kind;
import org.dl4jamp.inspect.compare.numbers.Difference;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.ops.transforms.Transforms;

class ComparisonTest {
    private static final List<MultiDataSet> VECTORS = TestNetworks.vectors(16, 20, 3);

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder().precision(precision).engine("nd4j").build();
    }

    private static LayerComparison layer(Comparison comparison, String name) {
        return comparison.layers().stream()
                .filter(layer -> layer.layer().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static Difference gradients(Comparison comparison, String layer) {
        return layer(comparison, layer).gradients().orElseThrow().mixed();
    }

    @ParameterizedTest
    @EnumSource(names = {"HALF", "BFLOAT16"})
    void aHealthyNetworkNeedsNoMending(Precision precision) {
        Comparison comparison = Comparison.run(TestNetworks.healthy(), config(precision), VECTORS);
        Verdict verdict = comparison.verdict();
        assertEquals(Kind.HEALTHY, verdict.kind(), verdict::toString);
        assertTrue(verdict.sentences().get(0).startsWith("Nothing needs mending"), verdict::toString);
        assertTrue(verdict.weakest().isPresent());
        assertEquals(List.of(), verdict.trials());
        assertEquals(comparison.lossInFp32(), comparison.lossInMixed(), 0.01 * comparison.lossInFp32());
        for (LayerComparison layer : comparison.layers()) {
            double error = layer.activations().orElseThrow().mixed().error();
            assertTrue(error > 0 && error < 0.01, layer.layer() + " " + error);
            assertEquals(
                    List.of("W", "b"),
                    layer.parameters().stream()
                            .map(ParameterComparison::parameter)
                            .toList());
        }
    }

    /** The only place where rounding happens here is the product of the first layer's weights. */
    @Test
    void errorsAreThoseOfRoundingAsItIsComputedByHand() {
        MultiLayerNetwork network = TestNetworks.healthy();
        INDArray x = VECTORS.get(0).getFeatures(0);
        INDArray rounded = network.getParam("0_W").castTo(DataType.HALF).castTo(DataType.FLOAT);
        INDArray exact = relu(x.mmul(network.getParam("0_W")));
        INDArray alone = relu(x.mmul(rounded));
        Comparison comparison = Comparison.run(network, config(Precision.HALF), VECTORS);
        Compared activations = layer(comparison, "layer0").activations().orElseThrow();
        double expected = alone.sub(exact).norm2Number().doubleValue()
                / exact.norm2Number().doubleValue();
        assertEquals(expected, activations.rounded().orElseThrow().error(), 1e-3 * expected);

        INDArray halfX = x.castTo(DataType.HALF).castTo(DataType.FLOAT);
        INDArray mixed = relu(halfX.mmul(rounded)).castTo(DataType.HALF).castTo(DataType.FLOAT);
        double inMixed = mixed.sub(exact).norm2Number().doubleValue()
                / exact.norm2Number().doubleValue();
        assertEquals(inMixed, activations.mixed().error(), 0.05 * inMixed);
        assertEquals("HALF", activations.inMixed().type());
        assertEquals("FLOAT", activations.inFp32().type());
    }

    private static INDArray relu(INDArray array) {
        return Transforms.relu(array, true);
    }

    @Test
    void gradientsAreUnscaledAndTheBatchNormalizationsStatisticsAreNotAmongThem() {
        Comparison comparison =
                Comparison.run(TestNetworks.illConditioned(), config(Precision.HALF), TestNetworks.vectors(32, 20, 3));
        assertEquals(65536, comparison.lastScale());
        for (LayerComparison layer : comparison.layers()) {
            for (ParameterComparison parameter : layer.parameters()) {
                assertTrue(List.of("W", "b", "gamma", "beta").contains(parameter.parameter()), parameter.parameter());
                double ratio = parameter.gradients().inMixed().largest()
                        / parameter.gradients().inFp32().largest();
                if (parameter.parameter().equals("W")) {
                    assertEquals(1, ratio, 0.5, layer.layer());
                }
            }
        }
    }

    @Test
    void plantedUnderflowIsFoundAndScalesOfLayersMendIt() {
        Comparison comparison =
                Comparison.run(TestNetworks.underflowing(), config(Precision.HALF), TestNetworks.unequalTargets());
        Verdict verdict = comparison.verdict();
        assertEquals(Kind.MENDED, verdict.kind(), verdict::toString);
        assertEquals(Optional.of("small_2"), verdict.weakest());
        assertEquals(1, gradients(comparison, "small_1").vanished());
        assertEquals(1, gradients(comparison, "small_2").error());
        assertTrue(gradients(comparison, "large_1").error() < 0.01);
        assertTrue(comparison.lastScale() < comparison.firstScale());
        assertEquals(
                "AmpConfig.builder().precision(Precision.HALF).engine(\"nd4j\").layerScales(true).build()",
                verdict.mending().orElseThrow().line());

        // The line does what it's said to do.
        Comparison mended = Comparison.run(
                TestNetworks.underflowing(),
                config(Precision.HALF).toBuilder().layerScales(true).build(),
                TestNetworks.unequalTargets());
        assertEquals(Kind.HEALTHY, mended.verdict().kind());
        assertEquals(
                gradients(mended, "small_2").error(),
                verdict.mending().orElseThrow().layer(),
                1e-9);
    }

    @Test
    void plantedOverflowIsFoundAndKeepingItsLayersMendsIt() {
        Comparison comparison = Comparison.run(TestNetworks.overflowing(), config(Precision.HALF), VECTORS);
        Verdict verdict = comparison.verdict();
        assertEquals(Kind.MENDED, verdict.kind(), verdict::toString);
        assertEquals(Optional.of("layer0"), verdict.weakest());
        assertTrue(verdict.mending().orElseThrow().line().contains(".keepFull(\"layer0\").keepFull(\"layer1\")"));
        assertTrue(layer(comparison, "layer0").nearOverflow() > 0.9);
        assertFalse(comparison.skips().isEmpty());
        // Keeping the first alone was run, too, and doesn't mend it.
        assertFalse(verdict.trials().get(0).mends());

        Comparison mended = Comparison.run(
                TestNetworks.overflowing(),
                config(Precision.HALF).toBuilder()
                        .keepFull("layer0")
                        .keepFull("layer1")
                        .build(),
                VECTORS);
        assertEquals(Kind.HEALTHY, mended.verdict().kind());
        assertEquals(
                Kind.HEALTHY,
                Comparison.run(TestNetworks.overflowing(), config(Precision.BFLOAT16), VECTORS)
                        .verdict()
                        .kind());
    }

    @Test
    void anIllConditionedNetworkIsToldFromABadPolicy() {
        Comparison comparison = Comparison.run(
                TestNetworks.illConditioned(), config(Precision.BFLOAT16), TestNetworks.vectors(2, 20, 3));
        Verdict verdict = comparison.verdict();
        assertEquals(Kind.ILL_CONDITIONED, verdict.kind(), verdict::toString);
        assertTrue(verdict.sentences().get(0).startsWith("The policy isn't to blame"), verdict::toString);
        assertEquals(List.of(), verdict.trials());
    }

    @Test
    void withoutHalfPrecisionThatIsSaid() {
        Comparison comparison = Comparison.run(TestNetworks.healthy(), config(Precision.FLOAT), VECTORS);
        assertEquals(Kind.NO_HALF, comparison.verdict().kind());
        assertEquals(Optional.empty(), comparison.gradientsOfRounded());
        assertEquals(0, comparison.gradients().error());
    }

    @Test
    void whatIsNotFiniteInFp32IsNotBlamedOnThePolicy() {
        MultiDataSet batch = TestNetworks.vectors(4, 20, 3).get(0);
        batch.getFeatures(0).muli(3e38);
        Comparison comparison = Comparison.run(TestNetworks.healthy(), config(Precision.HALF), List.of(batch));
        assertEquals(Kind.NOT_FINITE_IN_FP32, comparison.verdict().kind());
    }

    @Test
    void theNetworkItselfStaysAsItIsAndDropoutMakesNoDifference() {
        MultiLayerNetwork network = TestNetworks.withDropout();
        INDArray before = network.params().dup();
        String configuration = network.getLayerWiseConfigurations().toJson();
        Comparison comparison = Comparison.run(network, config(Precision.HALF), VECTORS);
        assertEquals(Kind.HEALTHY, comparison.verdict().kind(), comparison.verdict()::toString);
        assertEquals(before, network.params());
        assertEquals(configuration, network.getLayerWiseConfigurations().toJson());
    }

    @Test
    void severalBatchesAreOneComparison() {
        List<MultiDataSet> two =
                List.of(VECTORS.get(0), TestNetworks.vectors(8, 20, 3).get(0));
        Comparison comparison = Comparison.run(TestNetworks.healthy(), config(Precision.HALF), two);
        assertEquals(24, comparison.examples());
        assertEquals(
                24 * 32,
                layer(comparison, "layer0").activations().orElseThrow().mixed().numbers());
        assertThrows(
                AmpException.class, () -> Comparison.run(TestNetworks.healthy(), config(Precision.HALF), List.of()));
    }
}
