package org.dl4jamp.examples.inspect;

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
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.examples.AmpCommand;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

class CompareCommandTest {
    @TempDir
    private Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private static OutputLayer softmax() {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .nOut(3)
                .activation(Activation.SOFTMAX)
                .build();
    }

    private static MultiLayerNetwork init(NeuralNetConfiguration.ListBuilder layers, InputType input) {
        MultiLayerNetwork network =
                new MultiLayerNetwork(layers.setInputType(input).build());
        network.init();
        return network;
    }

    private static MultiLayerNetwork mlp() {
        return init(
                new NeuralNetConfiguration.Builder()
                        .seed(7)
                        .list()
                        .layer(new DenseLayer.Builder()
                                .nOut(64)
                                .activation(Activation.TANH)
                                .build())
                        .layer(new DenseLayer.Builder()
                                .nOut(64)
                                .activation(Activation.TANH)
                                .build())
                        .layer(softmax()),
                InputType.feedForward(4));
    }

    private static MultiLayerNetwork cnn() {
        NeuralNetConfiguration.ListBuilder layers =
                new NeuralNetConfiguration.Builder().seed(7).list();
        for (int i = 0; i < 2; i++) {
            layers.layer(new ConvolutionLayer.Builder(3, 3)
                            .nOut(8)
                            .hasBias(false)
                            .convolutionMode(ConvolutionMode.Same)
                            .activation(Activation.IDENTITY)
                            .build())
                    .layer(new BatchNormalization.Builder().build())
                    .layer(new ActivationLayer(Activation.RELU));
        }
        return init(layers.layer(softmax()), InputType.convolutional(8, 8, 3));
    }

    private Path saved(Model network) throws IOException {
        Path zip = folder.resolve("model.zip");
        ModelSerializer.writeModel(network, zip.toFile(), true);
        return zip;
    }

    private int run(String... arguments) {
        return AmpCommand.commandLine()
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(arguments);
    }

    @Test
    void randomBatchesGiveTextJsonAndPage() throws IOException {
        Path json = folder.resolve("c.json");
        Path html = folder.resolve("c.html");
        assertEquals(
                0,
                run(
                        "compare",
                        saved(mlp()).toString(),
                        "--precision=half",
                        "--engine=nd4j",
                        "--batch=4",
                        "--batches=2",
                        "--json=" + json,
                        "--html=" + html),
                err.toString());
        assertTrue(out.toString().contains("Nothing needs mending"), out.toString());
        assertTrue(out.toString().startsWith("model.zip: MultiLayerNetwork of 4675 parameters"), out.toString());
        JsonNode figures = new ObjectMapper().readTree(json.toFile());
        assertEquals("HEALTHY", figures.at("/comparison/verdict/kind").asText());
        assertEquals("random, seed 1", figures.at("/data").asText());
        assertEquals(8, figures.at("/comparison/examples").asInt());
        assertEquals(3, figures.at("/comparison/layers").size());
        assertTrue(Files.readString(html).contains("<svg"));
    }

    @Test
    void jsonOnStandardOutputReplacesTheText() throws IOException {
        Path csv = Files.writeString(folder.resolve("d.csv"), "a,b,c,d,class\n1,2,3,4,0\n5,6,7,8,2\n");
        assertEquals(
                0,
                run("compare", saved(mlp()).toString(), "--precision=bfloat16", "--data=" + csv, "--json=-"),
                err.toString());
        JsonNode figures = new ObjectMapper().readTree(out.toString());
        assertEquals(2, figures.at("/comparison/examples").asInt());
        assertEquals("BFLOAT16", figures.at("/comparison/precision").asText());
        assertFalse(Files.exists(Path.of("-")));
    }

    /** Layers that oneDNN computes in one pass with the next have no numbers of their own, all others are compared. */
    @Test
    void theEngineOfTheCpuIsComparedWithItsFusions() throws IOException {
        int exit = run(
                "compare",
                saved(cnn()).toString(),
                "--engine=onednn",
                "--precision=float",
                "--input=3,8,8",
                "--json=-");
        assertEquals(0, exit, err.toString());
        JsonNode figures = new ObjectMapper().readTree(out.toString());
        assertEquals("NO_HALF", figures.at("/comparison/verdict/kind").asText());
        assertEquals("onednn", figures.at("/comparison/engine").asText());
        int fused = 0;
        for (JsonNode layer : figures.at("/comparison/layers")) {
            if (layer.at("/computedWith").isNull()) {
                assertTrue(layer.at("/activations/mixed/error").asDouble(1) < 1e-4, layer.toString());
            } else {
                fused++;
                assertTrue(layer.at("/activations").isNull(), layer.toString());
            }
            if (!layer.at("/gradients").isNull()) {
                assertTrue(layer.at("/gradients/mixed/error").asDouble(1) < 1e-3, layer.toString());
            }
        }
        assertTrue(fused > 0, figures.toString());
    }

    @Test
    void anOverflowIsFoundAndTheLineThatMendsItIsSaid() throws IOException {
        MultiLayerNetwork network = mlp();
        network.getParam("0_W").muli(1e6);
        network.getParam("1_W").muli(1e-6);
        // The function of the first layer has to let large numbers through.
        NeuralNetConfiguration.ListBuilder layers = new NeuralNetConfiguration.Builder()
                .seed(7)
                .list()
                .layer(new DenseLayer.Builder()
                        .nOut(64)
                        .activation(Activation.IDENTITY)
                        .build())
                .layer(new DenseLayer.Builder()
                        .nOut(64)
                        .activation(Activation.TANH)
                        .build())
                .layer(softmax());
        MultiLayerNetwork overflowing = init(layers, InputType.feedForward(4));
        overflowing.setParams(network.params());
        assertEquals(
                0, run("compare", saved(overflowing).toString(), "--precision=half", "--engine=nd4j"), err.toString());
        assertTrue(out.toString().contains("The weakest layer is \"layer0\""), out.toString());
        assertTrue(out.toString().contains("This mends it: AmpConfig.builder()"), out.toString());
    }

    @ParameterizedTest
    @CsvSource({
        "MODEL --batch=0, --batch 0: must be at least 1",
        "MODEL --timesteps=0, --timesteps 0: must be at least 1",
        "MODEL --data=none.csv, none.csv: no such file",
        "MODEL --data=x.csv --random, mutually exclusive",
        "MODEL --precision=fp8, but was 'fp8'",
        "MODEL --engine=abacus, abacus",
        "MODEL --keep-full=none, none",
        "MODEL --input=4;4, --input 4;4",
        "MODEL --json=no/such/x.json, can't be written",
        "MODEL --html=no/such/x.html, can't be written",
        "MODEL --html=MODEL, must be another file",
        "MODEL --json=same --html=same, must be another file",
        "MODEL --data=same.csv --json=same.csv, must be another file",
        "none.zip, none.zip: no such file",
        "'', Missing required parameter",
    })
    void wrongUsageIsSaidInOneLineAndEndsWithTwo(String arguments, String message) throws IOException {
        Path model = saved(mlp());
        List<String> all = new ArrayList<>(List.of("compare"));
        if (!arguments.isEmpty()) {
            all.addAll(List.of(arguments.replace("MODEL", model.toString()).split(" ")));
        }
        assertEquals(2, run(all.toArray(String[]::new)), err.toString());
        assertTrue(err.toString().startsWith("amp: "), err.toString());
        assertTrue(err.toString().contains(message), err.toString());
        // The second line says where help is, of options.
        assertTrue(err.toString().lines().count() <= 2, err.toString());
        assertEquals("", out.toString());
    }

    @Test
    void verboseShowsTheStackTrace() throws IOException {
        assertEquals(2, run("compare", "none.zip", "--verbose"));
        assertTrue(err.toString().contains("at org.dl4jamp.inspect.model.ModelFile"), err.toString());
    }

    @Test
    void theLossScaleGoesOnFromTheSavedOne() throws IOException {
        MultiLayerNetwork network = mlp();
        Path zip = folder.resolve("amp.zip");
        AmpConfig config =
                AmpConfig.builder().precision(Precision.HALF).engine("nd4j").build();
        DynamicLossScaler lowered =
                DynamicLossScaler.builder().initialScale(128).build();
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            amp.lossScaler().restore(lowered.state());
            AmpModelSerializer.writeModel(network, zip.toFile(), true);
        }
        assertEquals(0, run("compare", zip.toString(), "--json=-"), err.toString());
        JsonNode figures = new ObjectMapper().readTree(out.toString());
        assertEquals(128, figures.at("/comparison/firstScale").asDouble());
        assertEquals("HALF", figures.at("/comparison/precision").asText());
    }

    @Test
    void wrongDataIsSaidInOneLineAndNothingIsWritten() throws IOException {
        Path csv = Files.writeString(folder.resolve("d.csv"), "1,2,3,4,0\n1,2,three,4,0\n");
        Path html = folder.resolve("c.html");
        assertEquals(2, run("compare", saved(mlp()).toString(), "--data=" + csv, "--html=" + html));
        assertTrue(err.toString().contains("d.csv: line 2, column 3: \"three\" isn't a finite"), err.toString());
        assertFalse(Files.exists(html));
    }
}
