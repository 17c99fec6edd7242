package org.dl4jamp.examples.inspect;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.examples.AmpCommand;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.activations.Activation;

/** {@code amp plan} shows a saved model's plan in every form, and refuses bad input in one line. */
class PlanCommandTest {
    @TempDir
    private Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @Test
    void theTableIsPrinted() throws IOException {
        assertEquals(0, run(mlp(), "--engine=nd4j", "--precision=half", "--batch=2"), err.toString());
        assertTrue(out.toString().contains("Plan of " + folder.resolve("model.zip") + ": MultiLayerNetwork"));
        assertTrue(out.toString().contains("Precision HALF on engine nd4j"), out.toString());
        assertTrue(out.toString().contains("Input \"input\" 3; batch 2"), out.toString());
        assertTrue(out.toString().contains("FLOAT to HALF: \"input\" -> \"layer0\""), out.toString());
    }

    @Test
    void everyFileIsWrittenAndTheModelStays() throws IOException {
        Path model = mlp();
        byte[] before = Files.readAllBytes(model);
        Path json = folder.resolve("plan.json");
        Path svg = folder.resolve("plan.svg");
        Path png = folder.resolve("plan.png");
        assertEquals(0, run(model, "--json=" + json, "--svg=" + svg, "--png=" + png), err.toString());
        JsonNode plan = new ObjectMapper().readTree(json.toFile());
        assertEquals(3 * 4 + 4 + 4 * 2 + 2, plan.at("/totals/parameters").asInt());
        assertEquals(4 * (2 * 3 + 1), plan.at("/layers/0/flops").asInt());
        assertTrue(Files.readString(svg).startsWith("<svg "));
        assertTrue(ImageIO.read(png.toFile()).getWidth() > 100);
        assertArrayEquals(before, Files.readAllBytes(model));
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(4, files.count());
        }
    }

    @Test
    void jsonOnStandardOutputIsAlone() throws IOException {
        assertEquals(0, run(mlp(), "--json=-"), err.toString());
        assertEquals(
                2, new ObjectMapper().readTree(out.toString()).at("/layers").size());
    }

    @Test
    void settingsOfTheModelAreUsedUnlessAnOptionSaysOtherwise() throws IOException {
        MultiLayerNetwork network = network(dense());
        Path file = folder.resolve("amp.zip");
        AmpConfig config = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .keepFull("layer0")
                .lower("layer1")
                .build();
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            assertEquals(Precision.HALF, amp.precision());
            AmpModelSerializer.writeModel(network, file.toFile(), true);
        }
        assertEquals(0, run(file), err.toString());
        assertTrue(out.toString().contains("kept full by"), out.toString());
        assertTrue(out.toString().contains("Settings that were saved with the model: "), out.toString());
        assertEquals(0, run(file, "--precision=bfloat16"), err.toString());
        assertTrue(out.toString().contains("Precision BFLOAT16 on engine nd4j"), out.toString());
    }

    @Test
    void rulesComeBehindThoseOfTheModel() throws IOException {
        assertEquals(0, run(mlp(), "--engine=nd4j", "--precision=half", "--keep-full=layer0", "--json=-"));
        assertEquals(
                "FLOAT",
                new ObjectMapper()
                        .readTree(out.toString())
                        .at("/layers/0/precision")
                        .asText());
        out.getBuffer().setLength(0);
        assertEquals(0, run(mlp(), "--engine=nd4j", "--precision=half", "--lower=layer[01]", "--json=-"));
        assertEquals(
                "HALF",
                new ObjectMapper()
                        .readTree(out.toString())
                        .at("/layers/1/precision")
                        .asText());
    }

    @Test
    void anImagesSizeHasToBeGiven() throws IOException {
        Path cnn =
                save(network(new ConvolutionLayer.Builder(3, 3).nIn(3).nOut(4).build(), new GlobalPoolingLayer()));
        refuses("add --input 3,HEIGHT,WIDTH", cnn);
        assertEquals(0, run(cnn, "--input=3,8,6"), err.toString());
        assertTrue(out.toString().contains("4x6x4"), out.toString());
    }

    @ParameterizedTest
    @CsvSource({
        "--batch=0, --batch 0: must be at least 1",
        "--timesteps=-1, --timesteps -1: must be at least 1",
        "--input=3x4, --input 3x4: must be one to four whole numbers",
        "--input=7, 'takes 3 values or channels, and gets 7'",
        "--svg=no/such/folder/x.svg, can't be written",
        "--png=., can't be written",
        "--engine=abacus, abacus",
        "--keep-full=none.*, none.*",
        "--lower=(, '('",
    })
    void wrongOptionsAreRefused(String option, String message) throws IOException {
        refuses(message, mlp(), option);
    }

    @Test
    void anOutputIsNeverTheModelOrAnotherOutput() throws IOException {
        Path model = mlp();
        refuses("must be another file", model, "--json=" + model);
        Path same = folder.resolve("same");
        refuses("must be another file", model, "--svg=" + same, "--png=" + same);
        assertFalse(Files.exists(same));
    }

    @Test
    void whatIsNoModelIsRefusedAndNothingIsWritten() throws IOException {
        Path svg = folder.resolve("plan.svg");
        refuses("no such file", folder.resolve("none.zip"), "--svg=" + svg);
        refuses("no zip", Files.writeString(folder.resolve("text.zip"), "text"), "--svg=" + svg);
        assertFalse(Files.exists(svg));
    }

    @Test
    void verboseShowsTheStackTrace() throws IOException {
        assertEquals(2, run(folder.resolve("none.zip"), "--verbose"));
        assertTrue(err.toString().startsWith("amp: "), err.toString());
        assertTrue(err.toString().contains("at org.dl4jamp.inspect.model.ModelFile.read"), err.toString());
        err.getBuffer().setLength(0);
        assertEquals(2, run(mlp(), "--svg=no/such/folder/x.svg", "--verbose"));
        assertTrue(err.toString().contains("Caused by: java.nio.file.NoSuchFileException"), err.toString());
    }

    private void refuses(String message, Path model, String... options) {
        err.getBuffer().setLength(0);
        assertEquals(2, run(model, options), err.toString());
        assertTrue(err.toString().startsWith("amp: "), err.toString());
        assertTrue(err.toString().contains(message), err.toString());
        assertFalse(err.toString().contains("\tat "), err.toString());
        assertEquals("", out.toString());
    }

    private int run(Path model, String... options) {
        List<String> all = new ArrayList<>(List.of("plan", model.toString()));
        all.addAll(List.of(options));
        return AmpCommand.commandLine()
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(all.toArray(String[]::new));
    }

    private Path mlp() throws IOException {
        return save(network(dense()));
    }

    private static Layer dense() {
        return new DenseLayer.Builder().nIn(3).nOut(4).build();
    }

    private Path save(MultiLayerNetwork network) throws IOException {
        Path file = folder.resolve("model.zip");
        ModelSerializer.writeModel(network, file.toFile(), true);
        return file;
    }

    /** Returns a network of layers that end in four values, and an output layer. */
    private static MultiLayerNetwork network(Layer... layers) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder().list();
        for (Layer layer : layers) {
            list.layer(layer);
        }
        list.layer(new OutputLayer.Builder()
                .nIn(4)
                .nOut(2)
                .activation(Activation.SOFTMAX)
                .build());
        MultiLayerNetwork network = new MultiLayerNetwork(list.build());
        network.init();
        return network;
    }
}
