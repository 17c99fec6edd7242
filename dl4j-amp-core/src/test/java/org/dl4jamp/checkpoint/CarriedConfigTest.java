package org.dl4jamp.checkpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Optional;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.AmpConfigJson;
import org.dl4jamp.config.CarriedConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.NoLossScaler;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

class CarriedConfigTest {
    private static final AmpConfig CONFIG = AmpConfig.builder()
            .precision(Precision.HALF)
            .optLevel(OptLevel.O2)
            .engine("nd4j")
            .keepFull("bn_.*|\"größe\"\\d{1,2}")
            .lower(DenseLayer.class)
            .keepFull(ConvolutionLayer.class)
            .lossScaler(DynamicLossScaler.builder()
                    .initialScale(0.1)
                    .growthFactor(1.7)
                    .backoffFactor(0.3)
                    .growthInterval(7)
                    .minScale(1e-3)
                    .maxScale(1e7)
                    .hysteresis(3)
                    .build())
            .maxConsecutiveSkips(9)
            .build();

    /** DL4J's clone() of an attention vertex forgets what the graph's defaults had filled in, and init() fails then. */
    @Test
    void aGraphWithAttentionKeepsItsUpdaters() {
        ComputationGraphConfiguration plain = Networks.builder(new Adam(0.03))
                .l2(0.1)
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.recurrent(5))
                .addVertex("attention", Networks.attention(5, 6, 2), "in", "in", "in")
                .addLayer("out", Networks.rnnSoftmax(3), "attention")
                .setOutputs("out")
                .build();
        String before = plain.toJson();
        ComputationGraph expected = Networks.init(ComputationGraphConfiguration.fromJson(before));
        ComputationGraph graph = Networks.init(CarriedConfig.attach(plain, CONFIG));
        assertEquals(before, plain.toJson());
        DataSet sequences = Networks.sequences(4, 5, 3, 6);
        expected.fit(sequences);
        graph.fit(sequences);
        assertEquals(expected.params(), graph.params());
    }

    /** DL4J's clone() of a merge forgets its axis, which is that of time without this. */
    @Test
    void aMergeOfSequencesWithChannelsLastKeepsItsAxis() {
        ComputationGraphConfiguration plain = Networks.builder(new Adam(0.03))
                .graphBuilder()
                .addInputs("a", "b")
                .setInputTypes(InputType.recurrent(2, 5, RNNFormat.NWC), InputType.recurrent(3, 5, RNNFormat.NWC))
                .addVertex("merge", new MergeVertex(), "a", "b")
                .addLayer("out", Networks.rnnSoftmax(3), "merge")
                .setOutputs("out")
                .build();
        ComputationGraph expected = Networks.init(ComputationGraphConfiguration.fromJson(plain.toJson()));
        ComputationGraph graph = Networks.init(CarriedConfig.attach(plain, CONFIG));
        INDArray first = Nd4j.rand(DataType.FLOAT, 4, 5, 2);
        INDArray second = Nd4j.rand(DataType.FLOAT, 4, 5, 3);
        assertEquals(expected.outputSingle(first, second), graph.outputSingle(first, second));
    }

    static Stream<AmpConfig> settings() {
        return Stream.of(
                CONFIG,
                AmpConfig.defaults(),
                AmpConfig.builder().lossScaler(new StaticLossScaler(0.1)).build(),
                AmpConfig.builder().lossScaler(new NoLossScaler()).build());
    }

    static Stream<String> firstLayers() {
        return SmallNetworks.byFirstLayer().keySet().stream();
    }

    @ParameterizedTest
    @MethodSource("settings")
    void allSettingsAreCarried(AmpConfig config) {
        AmpConfig read = CarriedConfig.read(CarriedConfig.attach(SmallNetworks.dense(), config))
                .orElseThrow();
        assertEquals(config.precision(), read.precision());
        assertEquals(config.optLevel(), read.optLevel());
        assertEquals(config.engine(), read.engine());
        assertEquals(config.rules().toString(), read.rules().toString());
        assertEquals(
                config.lossScaler().map(Object::toString), read.lossScaler().map(Object::toString));
        assertEquals(config.maxConsecutiveSkips(), read.maxConsecutiveSkips());
    }

    @ParameterizedTest
    @MethodSource("firstLayers")
    void settingsOutliveEverythingThatDl4jDoesWithAConfiguration(String firstLayer) throws IOException {
        MultiLayerConfiguration plain = SmallNetworks.byFirstLayer().get(firstLayer);
        MultiLayerConfiguration configuration = CarriedConfig.attach(plain, CONFIG);
        assertCarriedThroughText(configuration);

        MultiLayerNetwork net = Networks.init(configuration);
        DataSet batch = SmallNetworks.batch(inputType(firstLayer));
        net.fit(batch);
        assertCarriedThroughText(net.getLayerWiseConfigurations());
        assertCarried(CarriedConfig.read(net.clone().getLayerWiseConfigurations()));

        ByteArrayOutputStream zip = new ByteArrayOutputStream();
        ModelSerializer.writeModel(net, zip, true);
        MultiLayerNetwork restored =
                ModelSerializer.restoreMultiLayerNetwork(new ByteArrayInputStream(zip.toByteArray()));
        assertCarriedThroughText(restored.getLayerWiseConfigurations());
        train(net, batch);
        train(restored, batch);
        assertSameBits(net.params(), restored.params());
    }

    @ParameterizedTest
    @MethodSource("firstLayers")
    void plainDl4jTrainsAsIfThereWereNoSettings(String firstLayer) {
        MultiLayerConfiguration plain = SmallNetworks.byFirstLayer().get(firstLayer);
        MultiLayerNetwork expected = new MultiLayerNetwork(plain.clone());
        MultiLayerNetwork actual = new MultiLayerNetwork(CarriedConfig.attach(plain, CONFIG));
        DataSet batch = SmallNetworks.batch(inputType(firstLayer));
        for (MultiLayerNetwork net : new MultiLayerNetwork[] {expected, actual}) {
            net.init();
            train(net, batch);
        }
        assertSameBits(expected.params(), actual.params());
        assertEquals(
                expected.getUpdater().getStateViewArray(), actual.getUpdater().getStateViewArray());
        assertEquals(expected.summary(), actual.summary());
    }

    @Test
    void aGraphCarriesSettingsThroughEverythingThatDl4jDoesWithIt() throws IOException {
        ComputationGraphConfiguration configuration = CarriedConfig.attach(SmallNetworks.graph(), CONFIG);
        assertCarriedThroughText(configuration);

        ComputationGraph graph = Networks.init(configuration);
        DataSet batch = SmallNetworks.batch(8, 4);
        graph.fit(batch);
        assertCarriedThroughText(graph.getConfiguration());
        assertCarried(CarriedConfig.read(graph.clone().getConfiguration()));

        ByteArrayOutputStream zip = new ByteArrayOutputStream();
        ModelSerializer.writeModel(graph, zip, true);
        ComputationGraph restored =
                ModelSerializer.restoreComputationGraph(new ByteArrayInputStream(zip.toByteArray()));
        assertCarriedThroughText(restored.getConfiguration());

        ComputationGraph expected = Networks.init(SmallNetworks.graph());
        expected.fit(batch);
        assertSameBits(expected.params(), graph.params());
        assertSameBits(expected.params(), restored.params());
    }

    @Test
    void theConfigurationThatWasGivenStaysAsItIs() {
        for (MultiLayerConfiguration plain : SmallNetworks.byFirstLayer().values()) {
            String before = plain.toJson();
            CarriedConfig.attach(plain, CONFIG);
            assertEquals(before, plain.toJson());
        }
        ComputationGraphConfiguration graph = SmallNetworks.graph();
        String before = graph.toJson();
        CarriedConfig.attach(graph, CONFIG);
        assertEquals(before, graph.toJson());
    }

    @Test
    void theCountersOfAConfigurationAreKept() {
        MultiLayerConfiguration plain = SmallNetworks.dense();
        plain.setIterationCount(12);
        plain.setEpochCount(3);
        assertEquals(12, CarriedConfig.attach(plain, CONFIG).getIterationCount());
        assertEquals(3, CarriedConfig.attach(plain, CONFIG).getEpochCount());
        ComputationGraphConfiguration graph = SmallNetworks.graph();
        graph.setIterationCount(12);
        graph.setEpochCount(3);
        assertEquals(12, CarriedConfig.attach(graph, CONFIG).getIterationCount());
        assertEquals(3, CarriedConfig.attach(graph, CONFIG).getEpochCount());
    }

    @Test
    void newSettingsReplaceOlderOnes() {
        MultiLayerConfiguration once = CarriedConfig.attach(SmallNetworks.dense(), CONFIG);
        MultiLayerConfiguration twice =
                CarriedConfig.attach(once, AmpConfig.builder().engine("onednn").build());
        assertEquals("onednn", CarriedConfig.read(twice).orElseThrow().engine());
        assertEquals(1, twice.getConf(0).getLayer().getConstraints().size());
        assertCarried(CarriedConfig.read(once));
        ComputationGraphConfiguration graph =
                CarriedConfig.attach(CarriedConfig.attach(Networks.residual(), AmpConfig.defaults()), CONFIG);
        assertCarriedThroughText(graph);
    }

    @Test
    void newSettingsOfAGraphReplaceOlderOnes() {
        AmpConfig other = AmpConfig.builder().engine("onednn").build();
        assertCarriedThroughText(CarriedConfig.attach(CarriedConfig.attach(SmallNetworks.graph(), other), CONFIG));
    }

    @Test
    void aGraphWithoutLayersHasNothingToHoldThem() {
        ComputationGraphConfiguration empty = new NeuralNetConfiguration.Builder()
                .graphBuilder()
                .addInputs("in")
                .addVertex("scale", new ScaleVertex(2), "in")
                .setOutputs("scale")
                .build();
        assertThrows(AmpException.class, () -> CarriedConfig.attach(empty, CONFIG));
    }

    @Test
    void aPlainConfigurationCarriesNothing() {
        assertEquals(Optional.empty(), CarriedConfig.read(SmallNetworks.dense()));
        assertEquals(Optional.empty(), CarriedConfig.read(SmallNetworks.graph()));
    }

    @Test
    void eachReaderGetsALossScalerOfItsOwn() {
        MultiLayerConfiguration configuration = CarriedConfig.attach(SmallNetworks.dense(), CONFIG);
        AmpConfig first = CarriedConfig.read(configuration).orElseThrow();
        first.lossScaler().orElseThrow().update(true);
        AmpConfig second = CarriedConfig.read(configuration).orElseThrow();
        assertEquals((double) 0.1f, second.lossScaler().orElseThrow().scale());
    }

    @Test
    void codeCannotBeCarried() {
        AmpConfig predicate = AmpConfig.builder().lower(layer -> true).build();
        AmpException e = assertThrows(AmpException.class, () -> CarriedConfig.attach(SmallNetworks.dense(), predicate));
        assertTrue(e.getMessage().startsWith("lower(predicate): "), e.getMessage());

        AmpConfig scaler =
                AmpConfig.builder().lossScaler(new UserWrittenScaler()).build();
        e = assertThrows(AmpException.class, () -> CarriedConfig.attach(SmallNetworks.graph(), scaler));
        assertTrue(e.getMessage().contains(UserWrittenScaler.class.getName()), e.getMessage());
    }

    @ParameterizedTest
    @CsvSource({
        "com.example.Gone, class com.example.Gone can't be loaded",
        "java.lang.String, class java.lang.String is not a DL4J layer"
    })
    void aClassThatCannotBeLoadedOrIsNoLayerIsNamed(String name, String message) {
        String json = CarriedConfig.attach(SmallNetworks.dense(), CONFIG)
                .toJson()
                .replace("\\\"class\\\":\\\"" + DenseLayer.class.getName(), "\\\"class\\\":\\\"" + name);
        assertUnreadable(json, message);
    }

    @Test
    void newerOrCorruptSettingsAreRejected() {
        String json = CarriedConfig.attach(SmallNetworks.dense(), CONFIG).toJson();
        assertUnreadable(
                json.replace("\\\"formatVersion\\\":1", "\\\"formatVersion\\\":2"),
                "format version 2, this dl4j-amp reads up to 1: upgrade");
        assertUnreadable(json.replace("\\\"growthFactor\\\":1.7", "\\\"growthFactor\\\":0.7"), "growthFactor(0.7)");
        assertUnreadable(
                json.replace("\\\"HALF\\\"", "\\\"QUARTER\\\""),
                "precision is \"QUARTER\", but has to be one of [AUTO");
    }

    private static void assertUnreadable(String json, String message) {
        MultiLayerConfiguration configuration = MultiLayerConfiguration.fromJson(json);
        AmpException e = assertThrows(AmpException.class, () -> CarriedConfig.read(configuration));
        assertTrue(e.getMessage().startsWith("the dl4j-amp settings that the configuration carries"), e.getMessage());
        assertTrue(e.getMessage().contains(message), e.getMessage());
    }

    private static void assertCarriedThroughText(MultiLayerConfiguration configuration) {
        assertCarried(CarriedConfig.read(configuration));
        assertCarried(CarriedConfig.read(configuration.clone()));
        assertCarried(CarriedConfig.read(MultiLayerConfiguration.fromJson(configuration.toJson())));
        assertCarried(CarriedConfig.read(MultiLayerConfiguration.fromYaml(configuration.toYaml())));
        assertEquals(
                configuration.toJson(),
                MultiLayerConfiguration.fromJson(configuration.toJson()).toJson());
    }

    private static void assertCarriedThroughText(ComputationGraphConfiguration configuration) {
        assertCarried(CarriedConfig.read(configuration));
        assertCarried(CarriedConfig.read(configuration.clone()));
        assertCarried(CarriedConfig.read(ComputationGraphConfiguration.fromJson(configuration.toJson())));
        assertCarried(CarriedConfig.read(ComputationGraphConfiguration.fromYaml(configuration.toYaml())));
    }

    private static void assertCarried(Optional<AmpConfig> read) {
        assertEquals(AmpConfigJson.text(CONFIG), AmpConfigJson.text(read.orElseThrow()));
    }

    private static void train(MultiLayerNetwork net, DataSet batch) {
        Nd4j.getRandom().setSeed(11);
        for (int i = 0; i < 3; i++) {
            net.fit(batch);
        }
    }

    private static void assertSameBits(INDArray expected, INDArray actual) {
        assertArrayEquals(expected.toFloatVector(), actual.toFloatVector());
    }

    private static InputType inputType(String firstLayer) {
        return switch (firstLayer) {
            case "convolution", "batch normalization" -> InputType.convolutional(6, 6, 2);
            case "last time step", "bidirectional" -> InputType.recurrent(4, 3);
            default -> InputType.feedForward(4);
        };
    }
}
