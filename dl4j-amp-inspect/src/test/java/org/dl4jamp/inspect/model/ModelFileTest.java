package org.dl4jamp.inspect.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Models come back with their parameters, and whatever else is given is refused in one line. */
class ModelFileTest {
    @TempDir
    private Path folder;

    @Test
    void aNetworkComesBackWithItsParameters() throws IOException {
        MultiLayerNetwork network = network();
        Path file = save(network);
        byte[] before = Files.readAllBytes(file);
        Model model = ModelFile.read(file);
        assertInstanceOf(MultiLayerNetwork.class, model);
        assertEquals(network.params(), model.params());
        assertArrayEquals(before, Files.readAllBytes(file), "the file is as it was");
    }

    @Test
    void aGraphComesBackWithItsParameters() throws IOException {
        ComputationGraph graph = new ComputationGraph(new NeuralNetConfiguration.Builder()
                .graphBuilder()
                .addInputs("in")
                .addLayer("out", output(), "in")
                .setOutputs("out")
                .build());
        graph.init();
        Model model = ModelFile.read(save(graph));
        assertInstanceOf(ComputationGraph.class, model);
        assertEquals(graph.params(), model.params());
    }

    @Test
    void aModelSavedWithMixedPrecisionComesBackWithoutIt() throws IOException {
        MultiLayerNetwork network = network();
        Path file = folder.resolve("amp.zip");
        try (MixedPrecision amp = MixedPrecision.enable(network)) {
            AmpModelSerializer.writeModel(network, file.toFile(), true);
            assertFalse(amp.isClosed());
        }
        assertTrue(MixedPrecision.of(ModelFile.read(file)).isEmpty());
    }

    @Test
    void settingsThatWereSavedComeBack() throws IOException {
        AmpConfig config =
                AmpConfig.builder().precision(Precision.HALF).keepFull("layer0").build();
        MultiLayerNetwork network = network();
        Path file = save(network);
        assertTrue(ModelFile.settings(file, ModelFile.read(file)).isEmpty());
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            AmpModelSerializer.writeModel(network, file.toFile(), true);
            assertEquals(
                    amp.config().toString(),
                    ModelFile.settings(file, ModelFile.read(file)).orElseThrow().toString());
        }
        MultiLayerNetwork carrying =
                new MultiLayerNetwork(MixedPrecision.configure(network.getLayerWiseConfigurations(), config));
        carrying.init();
        save(carrying);
        assertEquals(
                Precision.HALF,
                ModelFile.settings(file, ModelFile.read(file)).orElseThrow().precision());
    }

    @Test
    void aFileThatIsNotThereIsRefused() {
        assertRefused(folder.resolve("none.zip"), "no such file");
    }

    @Test
    void aFolderIsRefused() {
        assertRefused(folder, "a folder");
    }

    @Test
    void aFileThatIsNoZipIsRefused() throws IOException {
        assertRefused(Files.writeString(folder.resolve("text.zip"), "no zip"), "no zip");
        assertRefused(Files.createFile(folder.resolve("empty.zip")), "no zip");
    }

    @Test
    void aZipWithoutConfigurationIsRefused() throws IOException {
        assertRefused(zip(Map.of("a.txt", "b")), "no DL4J model: this zip has no entry configuration.json");
    }

    @Test
    void aConfigurationOfSomethingElseIsRefused() throws IOException {
        assertRefused(zip(Map.of("configuration.json", "{\"a\": 1}")), "no DL4J model: its entry configuration.json");
        assertRefused(zip(Map.of("configuration.json", "layers: none")), "isn't JSON");
    }

    @Test
    void aModelThatIsCutOffIsRefused() throws IOException {
        Path file = save(network());
        byte[] bytes = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(bytes, bytes.length - 30));
        assertRefused(file, "cut off");
    }

    @Test
    void aModelWithTooFewParametersIsRefused() throws IOException {
        String json = network().getLayerWiseConfigurations().toJson();
        assertRefused(zip(Map.of("configuration.json", json, "coefficients.bin", "xy")), "cut off, corrupt");
    }

    @Test
    void missingClassesAreNamed() throws IOException {
        String json = network().getLayerWiseConfigurations().toJson();
        String other = json.replace(DenseLayer.class.getName(), "com.example.Gone");
        assertRefused(zip(Map.of("configuration.json", other)), "needs classes that are missing: com.example.Gone;");
    }

    private static void assertRefused(Path file, String why) {
        String message =
                assertThrows(AmpException.class, () -> ModelFile.read(file)).getMessage();
        assertTrue(message.startsWith(file + ": "), message);
        assertTrue(message.contains(why), message);
        assertEquals(1, message.lines().count(), message);
    }

    private Path zip(Map<String, String> entries) throws IOException {
        Path file = folder.resolve("made.zip");
        try (OutputStream stream = Files.newOutputStream(file);
                ZipOutputStream zip = new ZipOutputStream(stream)) {
            for (Map.Entry<String, String> entry : entries.entrySet()) {
                zip.putNextEntry(new ZipEntry(entry.getKey()));
                zip.write(entry.getValue().getBytes(StandardCharsets.UTF_8));
            }
        }
        return file;
    }

    private Path save(Model model) throws IOException {
        Path file = folder.resolve("model.zip");
        ModelSerializer.writeModel(model, file.toFile(), true);
        return file;
    }

    private static MultiLayerNetwork network() {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new DenseLayer.Builder().nIn(4).nOut(3).build())
                .layer(output())
                .build());
        network.init();
        return network;
    }

    private static OutputLayer output() {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nIn(3)
                .nOut(2)
                .activation(Activation.SOFTMAX)
                .build();
    }
}
