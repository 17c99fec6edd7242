package org.dl4jamp.heal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.Pause;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks for which HALF's range is too small, whatever the loss scale, train as in FP32 where they heal. */
class SelfHealingTest {
    private static final int STEPS = 60;

    private static AmpConfig.Builder half() {
        return AmpConfig.builder().precision(Precision.HALF).engine("nd4j");
    }

    /**
     * Two branches: the loss of one is so large that the loss scale has to be small, and the gradients of the other are
     * so small that they vanish then.
     */
    private static ComputationGraph unequalBranches() {
        return Networks.init(Networks.builder(new Adam(1e-2, 0.9, 0.999, 1e-20))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.feedForward(4))
                .addLayer("large_1", Networks.dense(16, Activation.TANH), "in")
                .addLayer("large_2", Networks.dense(16, Activation.TANH), "large_1")
                .addLayer("large", fixedReadout(1), "large_2")
                .addLayer("small_1", Networks.dense(16, Activation.TANH), "in")
                .addLayer("small_2", Networks.dense(16, Activation.TANH), "small_1")
                .addLayer("small", fixedReadout(1), "small_2")
                .setOutputs("large", "small")
                .build());
    }

    private static OutputLayer fixedReadout(int out) {
        return new OutputLayer.Builder(LossFunction.MSE)
                .nOut(out)
                .updater(new Sgd(0))
                .activation(Activation.IDENTITY)
                .build();
    }

    private static ComputationGraph underflowing() {
        ComputationGraph graph = unequalBranches();
        graph.getParam("large_W").muli(3e3);
        graph.getParam("small_W").muli(1e-5);
        return graph;
    }

    private static MultiDataSet unequalTargets() {
        Nd4j.getRandom().setSeed(3);
        INDArray features = Nd4j.randn(DataType.FLOAT, 32, 4);
        INDArray sums = features.sum(true, 1);
        return new MultiDataSet(new INDArray[] {features}, new INDArray[] {sums.mul(600), sums.mul(2e-6)});
    }

    /** Returns the loss of the small branch. */
    private static double smallLoss(ComputationGraph graph) {
        MultiDataSet data = unequalTargets();
        INDArray error = graph.output(data.getFeatures(0))[1].sub(data.getLabels(1));
        return Math.pow(error.norm2Number().doubleValue(), 2);
    }

    @Test
    void gradientsThatUnderflowAtEveryScaleThatFitsTrainWithScalesOfTheirOwn() {
        ComputationGraph fp32 = underflowing();
        ComputationGraph without = underflowing();
        ComputationGraph with = underflowing();
        double before = smallLoss(fp32);
        MixedPrecision.enable(without, half().build());
        MixedPrecision amp =
                MixedPrecision.enable(with, half().selfHealing(true).build());
        for (int i = 0; i < STEPS; i++) {
            fp32.fit(unequalTargets());
            without.fit(unequalTargets());
            with.fit(unequalTargets());
        }
        assertTrue(smallLoss(fp32) < before / 10, () -> "FP32 learns: " + before + " to " + smallLoss(fp32));
        assertEquals(before, smallLoss(without), 0.2 * before, "without healing the small branch learns nothing");
        assertEquals(smallLoss(fp32), smallLoss(with), 0.05 * before);
        assertTrue(amp.config().layerScales());
        assertFalse(amp.isClosed());
        assertEquals(STEPS, amp.stepsTaken());
        assertEquals(1, amp.lossScale());
    }

    /** Its first layer's outputs are around 10^6, and the second brings them down to 1. */
    private static MultiLayerNetwork overflowing() {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Adam(1e-2))
                .list()
                .layer(new DenseLayer.Builder()
                        .nOut(16)
                        .updater(new Sgd(0))
                        .activation(Activation.IDENTITY)
                        .build())
                .layer(new DenseLayer.Builder()
                        .nOut(16)
                        .updater(new Sgd(0))
                        .activation(Activation.TANH)
                        .build())
                .layer(Networks.dense(16, Activation.TANH))
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
        network.getParam("0_W").muli(1e6);
        network.getParam("1_W").muli(1e-6);
        return network;
    }

    @Test
    void aLayerWhoseOutputOverflowsIsKeptInFloatAndTheNetworkTrains() {
        MultiLayerNetwork fp32 = overflowing();
        MultiLayerNetwork without = overflowing();
        MultiLayerNetwork with = overflowing();
        DataSet data = Networks.vectors(16, 20, 3);
        double before = fp32.score(data);
        MixedPrecision skipping = MixedPrecision.enable(without, half().build());
        MixedPrecision amp =
                MixedPrecision.enable(with, half().selfHealing(true).build());
        for (int i = 0; i < 40; i++) {
            fp32.fit(data);
            without.fit(data);
            with.fit(data);
        }
        assertTrue(fp32.score(data) < before / 2, "FP32 learns");
        assertEquals(40, skipping.stepsSkipped(), "without healing nothing is learned");
        assertEquals(1, amp.stepsSkipped());
        assertEquals(39, amp.stepsTaken());
        assertEquals(Precision.FLOAT, amp.plan().rows().get(0).precision());
        assertEquals(Precision.FLOAT, amp.plan().rows().get(0).output());
        assertEquals(Precision.FLOAT, amp.plan().rows().get(1).precision());
        assertEquals(Precision.HALF, amp.plan().rows().get(2).precision());
        assertEquals(fp32.score(data), with.score(data), 0.1 * before);
    }

    @Test
    void aScaleThatIsNeverLoweredIsGivenUp() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MixedPrecision amp = MixedPrecision.enable(
                network,
                half().lossScaler(new StaticLossScaler(0x1p30))
                        .selfHealing(true)
                        .build());
        for (int i = 0; i < 3; i++) {
            network.fit(Networks.vectors(16, 20, 3));
        }
        assertTrue(amp.config().layerScales());
        assertEquals(1, amp.stepsSkipped());
        assertEquals(2, amp.stepsTaken());
    }

    static Stream<Arguments> healthy() {
        return Stream.of(
                Arguments.of("mlp", Networks.init(Networks.mlp()), Networks.vectors(16, 20, 3)),
                Arguments.of("cnn", Networks.init(Networks.cnn()), Networks.images(8, 3, 12, 3)),
                Arguments.of("lstm", Networks.init(Networks.lstm()), Networks.maskedSequences(6, 5, 3, 7)),
                Arguments.of("truncated", Networks.init(Networks.truncatedLstm()), Networks.sequences(4, 5, 3, 12)),
                Arguments.of("graph", Networks.init(Networks.residual()), Networks.images(8, 3, 8, 3)),
                Arguments.of("dropout", Networks.init(Networks.dropout(new Adam(1e-2))), Networks.vectors(16, 20, 3)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("healthy")
    void aHealthyNetworkIsBitForBitWhatItIsWithoutHealing(String name, Model network, DataSet data) {
        Model healing = Networks.copy(network);
        MixedPrecision.enable(network, half().build());
        MixedPrecision amp =
                MixedPrecision.enable(healing, half().selfHealing(true).build());
        train(network, data);
        train(healing, data);
        assertEquals(network.params(), healing.params());
        assertEquals(network.score(), healing.score());
        assertFalse(amp.config().layerScales());
        assertEquals(half().selfHealing(true).build().toString(), amp.config().toString());
    }

    private static void train(Model network, DataSet data) {
        Nd4j.getRandom().setSeed(5);
        for (int i = 0; i < 9; i++) {
            Networks.fit(network, data);
        }
    }

    @Test
    void whatIsNotFiniteInFloatEitherIsLeftAlone() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        AmpConfig config = half().selfHealing(true).build();
        MixedPrecision amp = MixedPrecision.enable(network, config);
        network.getParam("1_W").putScalar(3, Float.POSITIVE_INFINITY);
        network.fit(Networks.vectors(16, 20, 3));
        assertEquals(1, amp.stepsSkipped());
        assertEquals(config.toString(), amp.config().toString());
    }

    @Test
    void anotherPrecisionHasNothingToHeal() {
        MultiLayerNetwork network = overflowing();
        AmpConfig config = half().precision(Precision.FLOAT).selfHealing(true).build();
        MixedPrecision amp = MixedPrecision.enable(network, config);
        network.fit(Networks.vectors(16, 20, 3));
        assertEquals(config.toString(), amp.config().toString());
    }

    @ParameterizedTest(name = "micro-batch {0}")
    @ValueSource(ints = {0, 1, 2})
    void healsInTheMiddleOfAGroupWhichIsSkippedOnce(int bad) {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MultiLayerNetwork fp32 = network.clone();
        MixedPrecision amp = MixedPrecision.enable(
                network, half().accumulate(3).selfHealing(true).build());
        DataSet good = Networks.vectors(16, 20, 3);
        DataSet large = new DataSet(good.getFeatures().mul(1e6), good.getLabels());
        for (int i = 0; i < 3; i++) {
            network.fit(i == bad ? large : good);
        }
        assertEquals(1, amp.stepsSkipped());
        assertEquals(fp32.params(), network.params());
        assertEquals(Precision.FLOAT, amp.plan().rows().get(0).precision());
        for (int i = 0; i < 3; i++) {
            network.fit(i == bad ? large : good);
        }
        assertEquals(1, amp.stepsSkipped());
        assertEquals(1, amp.stepsTaken());
    }

    @Test
    void aCheckpointKeepsWhatWasHealed(@TempDir File folder) throws IOException {
        File file = new File(folder, "model.zip");
        MultiLayerNetwork network = overflowing();
        DataSet data = Networks.vectors(16, 20, 3);
        MixedPrecision amp =
                MixedPrecision.enable(network, half().selfHealing(true).build());
        network.fit(data);
        network.fit(data);
        AmpModelSerializer.writeModel(network, file, true);
        MultiLayerNetwork restored = AmpModelSerializer.restoreMultiLayerNetwork(file, true);
        MixedPrecision again = MixedPrecision.of(restored).orElseThrow();
        assertEquals(amp.config().toString(), again.config().toString());
        assertEquals(Precision.FLOAT, again.plan().rows().get(0).precision());
        restored.fit(data);
        network.fit(data);
        assertEquals(network.params(), restored.params());
        assertEquals(2, again.stepsTaken());
    }

    @Test
    void layerScalesAreKeptInACheckpointAndAPause(@TempDir File folder) throws IOException {
        File file = new File(folder, "model.zip");
        ComputationGraph graph = underflowing();
        MixedPrecision amp =
                MixedPrecision.enable(graph, half().selfHealing(true).build());
        for (int i = 0; i < 3; i++) {
            graph.fit(unequalTargets());
        }
        assertTrue(amp.config().layerScales());
        try (Pause pause = amp.pause()) {
            graph.fit(unequalTargets());
        }
        AmpModelSerializer.writeModel(graph, file, true);
        ComputationGraph restored = AmpModelSerializer.restoreComputationGraph(file, true);
        MixedPrecision again = MixedPrecision.of(restored).orElseThrow();
        assertTrue(again.config().layerScales());
        graph.fit(unequalTargets());
        restored.fit(unequalTargets());
        assertEquals(graph.params(), restored.params());
    }

    @Test
    void nothingIsHealedInAPause() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        AmpConfig config = half().selfHealing(true).build();
        MixedPrecision amp = MixedPrecision.enable(network, config);
        network.setListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                model.gradient().gradient().putScalar(5, Float.POSITIVE_INFINITY);
            }
        });
        try (Pause pause = amp.pause()) {
            network.fit(Networks.vectors(16, 20, 3));
        }
        assertEquals(1, amp.stepsSkipped());
        assertEquals(config.toString(), amp.config().toString());
    }

    @Test
    void observersAndCountersGoOn() {
        MultiLayerNetwork network = overflowing();
        MixedPrecision amp =
                MixedPrecision.enable(network, half().selfHealing(true).build());
        int[] skips = {0};
        amp.onSkip((skip, iteration) -> skips[0]++);
        DataSet data = Networks.vectors(16, 20, 3);
        network.fit(data);
        network.fit(data);
        assertEquals(1, skips[0]);
        DataSet bad = new DataSet(data.getFeatures().dup().putScalar(2, 3, Double.NaN), data.getLabels());
        network.fit(bad);
        assertEquals(2, skips[0]);
        assertEquals(2, amp.stepsSkipped());
        assertEquals(amp, MixedPrecision.of(network).orElseThrow());
        amp.close();
        assertTrue(network.getListeners().isEmpty());
        assertTrue(MixedPrecision.of(network).isEmpty());
    }
}
