package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.AutoEncoder;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.variational.VariationalAutoencoder;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.BaseGraphVertex;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.deeplearning4j.nn.transferlearning.TransferLearningHelper;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Sgd;

/** Enabling, closing, and what else is done with a network meanwhile. */
class LifecycleTest {
    private final DataSet data = Networks.vectors(32, 20, 3);
    private final MultiLayerNetwork network = Networks.init(Networks.mlp());

    @TempDir
    private Path folder;

    private static AmpConfig level(OptLevel level) {
        return AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .optLevel(level)
                .build();
    }

    private static void train(MultiLayerNetwork network, DataSet data, int steps) {
        for (int i = 0; i < steps; i++) {
            network.fit(data);
        }
    }

    @Test
    void closeLeavesTheSameLayersAndTheStateOfNow() {
        train(network, data, 2);
        Layer[] layers = network.getLayers().clone();
        Object updater = network.getUpdater();
        MixedPrecision amp = MixedPrecision.enable(network, level(OptLevel.O1));
        train(network, data, 3);
        INDArray parameters = network.params().dup();
        INDArray state = network.getUpdater().getStateViewArray().dup();
        amp.close();
        assertArrayEquals(layers, network.getLayers());
        assertSame(updater, network.getUpdater());
        assertEquals(parameters, network.params());
        assertEquals(state, network.getUpdater().getStateViewArray());
        assertTrue(MixedPrecision.of(network).isEmpty());

        MultiLayerNetwork plain = network.clone();
        train(plain, data, 2);
        train(network, data, 2);
        assertEquals(plain.params(), network.params());
    }

    @Test
    void aNetworkThatIsClosedItselfMayBeClosedBeforeItsMixedPrecision() {
        Layer[] layers = network.getLayers().clone();
        MixedPrecision amp = MixedPrecision.enable(network, level(OptLevel.O1));
        train(network, data, 1);
        network.close();
        amp.close();
        assertArrayEquals(layers, network.getLayers());
    }

    @Test
    void layersThatWereFrozenMeanwhileStayFrozen() {
        Layer first = network.getLayer(0);
        MixedPrecision amp = MixedPrecision.enable(network, level(OptLevel.O1));
        assertNotNull(new TransferLearningHelper(network, 0).unfrozenMLN());
        amp.close();
        FrozenLayer frozen = assertInstanceOf(FrozenLayer.class, network.getLayer(0));
        assertSame(first, frozen.getInsideLayer());
    }

    @Test
    void anEnabledNetworkWithoutWrappersIsRecognized() {
        MultiLayerNetwork external = Networks.init(Networks.builder(new Sgd(0.1))
                .list()
                .layer(Networks.dense(4, Activation.TANH))
                .setInputType(InputType.feedForward(3))
                .build());
        MixedPrecision amp = MixedPrecision.enable(
                external, AmpConfig.builder().precision(Precision.FLOAT).build());
        assertSame(amp, MixedPrecision.of(external).orElseThrow());
    }

    @Test
    void itCanBeEnabledAgainAfterClosing() {
        MixedPrecision.enable(network, level(OptLevel.O1)).close();
        try (MixedPrecision again = MixedPrecision.enable(network, level(OptLevel.O2))) {
            train(network, data, 3);
            assertEquals(3, again.stepsTaken());
            assertSame(again, MixedPrecision.of(network).orElseThrow());
        }
    }

    @Test
    void closingAGraphGivesItsVerticesTheirTypesBack() {
        ComputationGraph graph = Networks.init(Networks.residual());
        Layer[] layers = graph.getLayers().clone();
        BaseGraphVertex add = (BaseGraphVertex) graph.getVertex("add");
        try (MixedPrecision amp = MixedPrecision.enable(graph, level(OptLevel.O1))) {
            graph.fit(Networks.images(8, 3, 8, 3));
            assertEquals(DataType.HALF, add.getDataType());
            assertEquals(1, amp.stepsTaken());
        }
        assertEquals(DataType.FLOAT, add.getDataType());
        assertArrayEquals(layers, graph.getLayers());
    }

    @Test
    void atO0TrainingIsBitForBitThatOfDl4j() {
        MultiLayerNetwork plain = Networks.init(Networks.cnn());
        MultiLayerNetwork enabled = plain.clone();
        DataSet images = Networks.images(16, 3, 12, 3);
        try (MixedPrecision amp = MixedPrecision.enable(enabled, level(OptLevel.O0))) {
            train(plain, images, 5);
            train(enabled, images, 5);
            assertFalse(amp.plan().anyHalf());
        }
        LossScalingTest.assertBitIdentical(plain.params(), enabled.params());
        LossScalingTest.assertBitIdentical(
                plain.getUpdater().getStateViewArray(), enabled.getUpdater().getStateViewArray());
    }

    @Tag("long")
    @ParameterizedTest
    @EnumSource(names = {"O1", "O2", "O3"})
    void everyLevelTrains(OptLevel level) {
        MultiLayerNetwork cnn = Networks.init(Networks.cnn());
        DataSet images = Networks.images(24, 3, 12, 3);
        double before = cnn.score(images);
        try (MixedPrecision amp = MixedPrecision.enable(cnn, level(level))) {
            train(cnn, images, 25);
            assertEquals(25, amp.stepsTaken());
            assertTrue(cnn.score(images) < before / 2, () -> before + " to " + cnn.score(images));
        }
    }

    @Test
    void atO3ParametersHaveNoMoreDigitsThanHalf() {
        MixedPrecision.enable(network, level(OptLevel.O3));
        train(network, data, 3);
        network.output(data.getFeatures());
        INDArray parameters = network.params();
        assertEquals(parameters.castTo(DataType.HALF).castTo(DataType.FLOAT), parameters);
    }

    @Test
    void atO3OnlyStepsChangeParameters() {
        INDArray before = network.params().dup();
        MixedPrecision.enable(network, level(OptLevel.O3));
        network.output(data.getFeatures());
        network.score(data);
        network.calculateGradients(data.getFeatures(), data.getLabels(), null, null);
        LossScalingTest.assertBitIdentical(before, network.params());
        network.fit(data);
        INDArray parameters = network.params();
        assertEquals(parameters.castTo(DataType.HALF).castTo(DataType.FLOAT), parameters);
    }

    @Test
    void networksHaveALossScalerEachUnlessTheyShareOneOnPurpose() {
        DynamicLossScaler scaler = DynamicLossScaler.builder().build();
        MultiLayerNetwork other = network.clone();
        AmpConfig.Builder builder =
                AmpConfig.builder().precision(Precision.HALF).engine("nd4j");
        try (MixedPrecision one = MixedPrecision.enable(
                        network, builder.lossScaler(scaler).build());
                MixedPrecision another =
                        MixedPrecision.enable(other, builder.lossScaler(scaler).build())) {
            one.lossScaler().update(true);
            assertEquals(32768, one.lossScale());
            assertEquals(65536, another.lossScale());
            assertEquals(65536, scaler.scale());
        }
        AmpConfig shared = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .sharedLossScale(new SharedLossScale(scaler))
                .build();
        assertTrue(shared.isLossScalerShared());
        assertTrue(shared.toString().contains(".sharedLossScale("), shared::toString);
        try (MixedPrecision one = MixedPrecision.enable(network, shared);
                MixedPrecision another = MixedPrecision.enable(other, shared)) {
            assertSame(scaler, one.lossScaler());
            one.lossScaler().update(true);
            assertEquals(32768, another.lossScale());
        }
    }

    /** DL4J rebuilds the updater then, by which mixed precision is found; the network has no output layer either. */
    @Test
    void aNetworkWithoutOutputLayerKeepsItsMixedPrecisionWhenTheLearningRateIsSet() {
        MultiLayerNetwork features = Networks.init(Networks.builder(new Adam(1e-2))
                .list()
                .layer(Networks.dense(4, Activation.TANH))
                .setInputType(InputType.feedForward(3))
                .build());
        AmpConfig config =
                AmpConfig.builder().precision(Precision.FLOAT).engine("nd4j").build();
        try (MixedPrecision amp = MixedPrecision.enable(features, config)) {
            features.setLearningRate(1e-3);
            assertSame(amp, MixedPrecision.of(features).orElseThrow());
            try (Pause pause = amp.pause()) {
                features.setLearningRate(1e-4);
                assertSame(amp, MixedPrecision.of(features).orElseThrow());
            }
        }
        assertTrue(MixedPrecision.of(features).isEmpty());
    }

    @Test
    void everythingMayBeLeftToDl4jByName() {
        MultiLayerNetwork plain = network.clone();
        ComputationGraph graph = Networks.init(Networks.residual());
        AmpConfig config = AmpConfig.builder().engine("dl4j").build();
        MixedPrecision amp = MixedPrecision.enable(network, config);
        assertEquals("dl4j", amp.engine());
        assertTrue(amp.plan().rows().stream().allMatch(row -> row.engine().equals("dl4j")));
        assertEquals("dl4j", MixedPrecision.enable(graph, config).engine());
        graph.fit(Networks.images(4, 3, 8, 3));
        train(plain, data, 3);
        train(network, data, 3);
        LossScalingTest.assertBitIdentical(plain.params(), network.params());
    }

    @Test
    void aCloneIsAPlainFp32Network() {
        MixedPrecision.enable(network, level(OptLevel.O1));
        train(network, data, 2);
        MultiLayerNetwork clone = network.clone();
        assertTrue(MixedPrecision.of(clone).isEmpty());
        assertEquals(network.params(), clone.params());
        assertEquals(
                network.getUpdater().getStateViewArray(), clone.getUpdater().getStateViewArray());
        Comparison.assertClose(
                clone.output(data.getFeatures()), network.output(data.getFeatures()), 0.01, "output of the clone");
        train(clone, data, 1);
        assertFalse(network.params().equals(clone.params()));
    }

    @Test
    void dl4jSavesAnEnabledNetworkAsItIs() throws Exception {
        MixedPrecision amp = MixedPrecision.enable(network, level(OptLevel.O1));
        train(network, data, 2);
        File file = folder.resolve("model.zip").toFile();
        ModelSerializer.writeModel(network, file, true);
        MultiLayerNetwork restored = MultiLayerNetwork.load(file, true);
        assertEquals(network.params(), restored.params());
        assertEquals(
                network.getUpdater().getStateViewArray(), restored.getUpdater().getStateViewArray());
        amp.close();
        train(network, data, 1);
        train(restored, data, 1);
        assertEquals(network.params(), restored.params());
    }

    @Test
    void summaryAndTransferLearningWorkOnAnEnabledNetwork() {
        String parameters = String.format("%,d", network.numParams());
        MixedPrecision.enable(network, level(OptLevel.O1));
        train(network, data, 2);
        assertTrue(network.summary().contains(parameters));
        MultiLayerNetwork transferred = new TransferLearning.Builder(network)
                .setFeatureExtractor(0)
                .nOutReplace(2, 5, WeightInit.XAVIER)
                .build();
        assertEquals(network.getParam("0_W"), transferred.getParam("0_W"));
        assertEquals(5, transferred.output(data.getFeatures()).size(1));
        try (MixedPrecision amp = MixedPrecision.enable(transferred, level(OptLevel.O1))) {
            transferred.fit(new DataSet(data.getFeatures(), Networks.oneHot(32, 5)));
            assertEquals(1, amp.stepsTaken());
        }
        assertEquals(network.getParam("0_W"), transferred.getParam("0_W"));
    }

    private static Stream<FeedForwardLayer> pretrainable() {
        return Stream.of(
                new AutoEncoder.Builder()
                        .nOut(8)
                        .corruptionLevel(0)
                        .activation(Activation.TANH)
                        .build(),
                new VariationalAutoencoder.Builder()
                        .nOut(4)
                        .encoderLayerSizes(8)
                        .decoderLayerSizes(8)
                        .activation(Activation.TANH)
                        .build());
    }

    /** Of the first layer: DL4J 1.0.0-M2.1 hands any other the network's input. */
    @ParameterizedTest
    @MethodSource("pretrainable")
    void pretrainingIsThatOfFp32(FeedForwardLayer layer) {
        MultiLayerNetwork fp32 = Networks.init(Networks.builder(new Sgd(0.05))
                .list()
                .layer(layer)
                .layer(Networks.dense(12, Activation.TANH))
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
        MultiLayerNetwork mixed = fp32.clone();
        INDArray before = fp32.params().dup();
        MixedPrecision amp = MixedPrecision.enable(mixed, level(OptLevel.O1));
        for (MultiLayerNetwork each : List.of(fp32, mixed)) {
            Comparison.seeded(() -> {
                each.pretrain(new SingletonDataSetIterator(data));
                return each;
            });
        }
        assertFalse(before.equals(fp32.params()));
        Comparison.assertClose(fp32.params().sub(before), mixed.params().sub(before), 0.03, "what was learned");
        mixed.fit(data);
        assertEquals(1, amp.stepsTaken());
    }

    /** Stock DL4J subtracts the decoder's last update again in each supervised step. */
    @ParameterizedTest
    @MethodSource("pretrainable")
    void supervisedStepsLeaveWhatOnlyPretrainingTrains(FeedForwardLayer layer) {
        MultiLayerNetwork mixed = Networks.init(Networks.builder(new Sgd(0.05))
                .list()
                .layer(layer)
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
        MixedPrecision.enable(mixed, level(OptLevel.O1));
        mixed.fit(data);
        mixed.pretrain(new SingletonDataSetIterator(data));
        assertTrue(mixed.getLayer(0).score() != 0);
        INDArray before = mixed.params().dup();
        mixed.fit(data);
        INDArray moved = mixed.params().sub(before);
        mixed.getLayer(0).paramTable().forEach((name, parameter) -> {
            INDArray part = moved.get(
                    NDArrayIndex.all(),
                    NDArrayIndex.interval(parameter.offset(), parameter.offset() + parameter.length()));
            boolean pretrained = mixed.getLayer(0).conf().getLayer().isPretrainParam(name);
            assertEquals(pretrained, part.amaxNumber().doubleValue() == 0, name);
        });
    }

    @Test
    void networksInTwoThreadsDoNotKnowOfEachOther() throws Exception {
        MultiLayerNetwork cnn = Networks.init(Networks.cnn());
        DataSet images = Networks.images(16, 3, 12, 3);
        Callable<INDArray> first = training(network.clone(), data);
        Callable<INDArray> second = training(cnn.clone(), images);
        List<INDArray> alone = List.of(first.call(), second.call());
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            List<Future<INDArray>> together =
                    threads.invokeAll(List.of(training(network.clone(), data), training(cnn.clone(), images)));
            for (int i = 0; i < 2; i++) {
                LossScalingTest.assertBitIdentical(alone.get(i), together.get(i).get());
            }
        } finally {
            threads.shutdown();
        }
    }

    private static Callable<INDArray> training(MultiLayerNetwork network, DataSet data) {
        return () -> {
            try (MixedPrecision amp = MixedPrecision.enable(network, level(OptLevel.O1))) {
                train(network, data.copy(), 15);
                assertEquals(15, amp.stepsTaken());
            }
            return network.params();
        };
    }

    @Test
    void aNetworkFromAConfigurationThatCarriesSettingsHasThem() {
        AmpConfig config = AmpConfig.builder()
                .precision(Precision.HALF)
                .keepFull("layer1")
                .maxConsecutiveSkips(7)
                .build();
        String json = MixedPrecision.configure(Networks.mlp(), config).toJson();
        MultiLayerNetwork carried = MixedPrecision.network(MultiLayerConfiguration.fromJson(json));
        MixedPrecision amp = MixedPrecision.of(carried).orElseThrow();
        assertEquals(7, amp.config().maxConsecutiveSkips());
        assertEquals(Precision.HALF, amp.precision());
        assertEquals(Precision.FLOAT, amp.plan().row("layer1").precision());
        train(carried, data, 2);
        amp.close();
        assertEquals(7, MixedPrecision.enable(carried).config().maxConsecutiveSkips());
    }
}
