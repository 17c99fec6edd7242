package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.NoLossScaler;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Loss scaling: small gradients survive, and a step that overflows is skipped. */
class LossScalingTest {
    /**
     * Reads its hidden layers out with fixed weights of 1e-4: what flows back is far below FP16's smallest number,
     * 6e-8.
     */
    private static MultiLayerNetwork tinyGradients() {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Adam(1e-2, 0.9, 0.999, 1e-20))
                .list()
                .layer(Networks.dense(16, Activation.TANH))
                .layer(Networks.dense(16, Activation.TANH))
                .layer(new OutputLayer.Builder(LossFunction.MSE)
                        .nOut(1)
                        .updater(new Sgd(0))
                        .activation(Activation.IDENTITY)
                        .build())
                .setInputType(InputType.feedForward(4))
                .build());
        network.getParam("2_W").muli(1e-4);
        return network;
    }

    private static DataSet tinyTargets() {
        Nd4j.getRandom().setSeed(3);
        INDArray features = Nd4j.randn(DataType.FLOAT, 32, 4);
        return new DataSet(features, features.sum(true, 1).muli(2e-5));
    }

    private static AmpConfig half(LossScaler scaler) {
        return AmpConfig.builder()
                .precision(Precision.HALF)
                .lossScaler(scaler)
                .scaleSearch(0)
                .build();
    }

    @Test
    void gradientsThatFp16CantHoldSurviveWithScalingAndVanishWithout() {
        MultiLayerNetwork fp32 = tinyGradients();
        MultiLayerNetwork without = fp32.clone();
        MultiLayerNetwork with = fp32.clone();
        Map<String, INDArray> expected = Gradients.of(fp32, tinyTargets());

        MixedPrecision.enable(without, half(new NoLossScaler()));
        MixedPrecision.enable(with, half(DynamicLossScaler.builder().build()));

        Map<String, INDArray> vanished = Gradients.of(without, tinyTargets());
        for (String name : new String[] {"0_W", "0_b", "1_W", "1_b"}) {
            assertTrue(expected.get(name).norm2Number().doubleValue() > 0, name);
            assertEquals(0, vanished.get(name).norm2Number().doubleValue(), name);
        }
        Gradients.assertAligned(expected, Gradients.of(with, tinyTargets()), 0.999);
    }

    @Test
    void aNetworkWhoseGradientsVanishInFp16TrainsAsInFp32WithScaling() {
        MultiLayerNetwork fp32 = tinyGradients();
        MultiLayerNetwork without = fp32.clone();
        MultiLayerNetwork with = fp32.clone();
        DataSet data = tinyTargets();
        double before = fp32.score(data);
        MixedPrecision.enable(without, half(new NoLossScaler()));
        MixedPrecision amp =
                MixedPrecision.enable(with, half(DynamicLossScaler.builder().build()));

        for (int i = 0; i < 60; i++) {
            fp32.fit(data);
            without.fit(data);
            with.fit(data);
        }

        assertTrue(fp32.score(data) < before / 10, () -> "FP32 learns: " + before + " to " + fp32.score(data));
        assertEquals(before, without.score(data), 1e-3 * before, "without scaling nothing is learned");
        assertEquals(fp32.score(data), with.score(data), 0.05 * before);
        assertEquals(60, amp.stepsTaken());
    }

    /** Makes one step overflow: the gradients are those of a real overflow. */
    private static final class OverflowAt extends BaseTrainingListener {
        private final int step;
        private int steps;

        OverflowAt(int step) {
            this.step = step;
        }

        @Override
        public void onGradientCalculation(Model model) {
            if (steps++ == step) {
                model.gradient().gradient().putScalar(5, Float.POSITIVE_INFINITY);
            }
        }
    }

    @Test
    void overflowSkipsTheStepLeavesEverythingBitForBitAndHalvesTheScale() {
        MultiLayerNetwork network = Networks.init(Networks.cnn());
        DataSet data = Networks.images(16, 3, 12, 3);
        MixedPrecision amp = MixedPrecision.enable(
                network,
                Gradients.config(Precision.HALF).toBuilder().scaleSearch(0).build());
        network.setListeners(new OverflowAt(3));
        for (int i = 0; i < 3; i++) {
            network.fit(data);
        }
        INDArray parameters = network.params().dup();
        INDArray updaterState = network.getUpdater().getStateViewArray().dup();
        INDArray runningMean = network.getParam("1_mean").dup();
        double lossBefore = network.score(data);

        network.fit(data);

        assertEquals(1, amp.stepsSkipped());
        assertEquals(3, amp.stepsTaken());
        assertEquals(32768, amp.lossScale());
        assertBitIdentical(parameters, network.params());
        assertBitIdentical(updaterState, network.getUpdater().getStateViewArray());
        assertBitIdentical(runningMean, network.getParam("1_mean"));

        for (int i = 0; i < 10; i++) {
            network.fit(data);
        }
        assertEquals(13, amp.stepsTaken());
        assertTrue(network.score(data) < lossBefore);
    }

    @Test
    void aScaleThatIsTooLargeComesDownByItselfAndTrainingGoesOn() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        DataSet data = Networks.vectors(32, 20, 3);
        MixedPrecision amp = MixedPrecision.enable(
                network, half(DynamicLossScaler.builder().initialScale(1 << 24).build()));
        double before = network.score(data);
        for (int i = 0; i < 40; i++) {
            network.fit(data);
        }
        assertTrue(amp.stepsSkipped() >= 3, () -> "skipped " + amp.stepsSkipped());
        assertTrue(amp.lossScale() < 1 << 22);
        assertEquals(40, amp.stepsTaken() + amp.stepsSkipped());
        assertTrue(network.score(data) < before / 2);
    }

    @Test
    void adamCountsOnlyTheStepsThatWereTaken() {
        MultiLayerNetwork plain = Networks.init(Networks.mlp());
        MultiLayerNetwork network = plain.clone();
        DataSet data = Networks.vectors(32, 20, 3);
        MixedPrecision.enable(
                network, AmpConfig.builder().precision(Precision.FLOAT).build());
        network.setListeners(new OverflowAt(1));
        for (int i = 0; i < 4; i++) {
            network.fit(data);
        }
        for (int i = 0; i < 3; i++) {
            plain.fit(data);
        }
        assertBitIdentical(plain.params(), network.params());
        assertBitIdentical(
                plain.getUpdater().getStateViewArray(), network.getUpdater().getStateViewArray());
    }

    @Test
    void sumsOverALargeBatchDontOverflowWhereAMeanWouldNot() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MixedPrecision amp = MixedPrecision.enable(network, Gradients.config(Precision.HALF));
        network.fit(Networks.vectors(4096, 20, 3));
        assertEquals(0, amp.stepsSkipped());
        network.fit(Networks.vectors(512, 20, 3));
        assertEquals(0, amp.stepsSkipped());
    }

    @Test
    void runningStatisticsAreNeitherScaledNorUnscaled() {
        MultiLayerNetwork fp32 = Networks.init(Networks.cnn());
        MultiLayerNetwork half = fp32.clone();
        DataSet data = Networks.images(16, 3, 12, 3);
        MixedPrecision.enable(half, half(new StaticLossScaler(1024)));
        fp32.fit(data);
        half.fit(data);
        for (String name : new String[] {"1_mean", "1_log10stdev", "5_mean", "5_var"}) {
            INDArray expected = fp32.getParam(name);
            assertTrue(
                    expected.sub(half.getParam(name)).norm2Number().doubleValue()
                            < 1e-3 * expected.norm2Number().doubleValue(),
                    name);
        }
    }

    @Test
    void scalingByPowersOfTwoChangesNoBitOfAnFp32Network() {
        MultiLayerNetwork plain = Networks.init(Networks.mlp());
        MultiLayerNetwork scaled = plain.clone();
        DataSet data = Networks.vectors(33, 20, 3);
        MixedPrecision.enable(
                scaled,
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .keepFull("layer1")
                        .lossScaler(new StaticLossScaler(65536))
                        .build());
        Map<String, INDArray> gradients = Gradients.of(scaled, data);
        assertTrue(Gradients.cosine(Gradients.of(plain, data).get("1_W"), gradients.get("1_W")) > 0.9999);
        assertEquals(DataType.FLOAT, gradients.get("1_W").dataType());
    }

    @Test
    void withoutLayersInHalfNothingIsScaledWhateverTheScaler() {
        MultiLayerNetwork plain = Networks.init(Networks.mlp());
        MultiLayerNetwork enabled = plain.clone();
        DataSet data = Networks.vectors(32, 20, 3);
        MixedPrecision amp = MixedPrecision.enable(
                enabled,
                AmpConfig.builder()
                        .precision(Precision.FLOAT)
                        .lossScaler(new StaticLossScaler(65536))
                        .build());
        plain.fit(data);
        enabled.fit(data);
        assertBitIdentical(plain.params(), enabled.params());
        assertEquals(1, amp.lossScale());
        assertEquals(1, MixedPrecision.enable(enabled.clone(), amp.state()).stepsTaken());
    }

    static void assertBitIdentical(INDArray expected, INDArray actual) {
        float[] a = expected.dup('c').data().asFloat();
        float[] b = actual.dup('c').data().asFloat();
        assertEquals(a.length, b.length);
        for (int i = 0; i < a.length; i++) {
            assertEquals(Float.floatToRawIntBits(a[i]), Float.floatToRawIntBits(b[i]), "element " + i);
        }
    }
}
