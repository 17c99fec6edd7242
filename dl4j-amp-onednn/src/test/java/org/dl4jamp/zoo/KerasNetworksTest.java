package org.dl4jamp.zoo;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.modelimport.keras.KerasModelImport;
import org.deeplearning4j.nn.modelimport.keras.exceptions.UnsupportedKerasConfigurationException;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Networks that DL4J imported from files of Keras, on this engine. */
class KerasNetworksTest {
    /** DL4J's importer puts a layer of the loss behind the output. */
    private static final List<String> LEFT_TO_DL4J = List.of("LossLayer");

    private static final double FLOAT_ERROR = 1e-5;
    private static final int STEPS = 20;

    @Test
    void weightsAreThoseOfTheFile() throws Exception {
        KerasFile.Weight written = KerasNetwork.PERCEPTRON.model().weight("second", "kernel");
        INDArray read = ((MultiLayerNetwork) KerasNetwork.PERCEPTRON.network())
                .getLayer("second")
                .getParam("W");
        assertEquals(written.shape(), List.of(read.size(0), read.size(1)));
        float[] values = new float[written.values().size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = written.values().get(i);
        }
        assertArrayEquals(values, read.dup('c').data().asFloat());
    }

    /** A later release of DL4J that imports it belongs among the networks. */
    @Test
    void attentionCantBeImportedByDl4j(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("attention.h5");
        new KerasModel(true)
                .add("InputLayer", "steps", KerasModel.config("batch_input_shape", List.of(2, 5, 4)))
                .add("Attention", "attention", KerasModel.config("use_scale", false), "steps", "steps")
                .write(file);
        UnsupportedKerasConfigurationException thrown = assertThrows(
                UnsupportedKerasConfigurationException.class,
                () -> KerasModelImport.importKerasModelAndWeights(file.toString(), true));
        assertTrue(thrown.getMessage().startsWith("Unsupported keras layer type Attention"), thrown.getMessage());
    }

    @ParameterizedTest
    @EnumSource
    void eachLayerHasAKernel(KerasNetwork keras) throws Exception {
        Subject subject = subject(keras);
        for (Precision precision : Types.precisions()) {
            try (MixedPrecision amp = subject.enable(precision)) {
                amp.plan().rows().stream()
                        .filter(row -> !row.engine().equals("onednn"))
                        .forEach(row -> assertTrue(LEFT_TO_DL4J.contains(row.className()), row::toString));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void floatAgreesWithStock(KerasNetwork keras) throws Exception {
        Subject stock = new Subject(keras.reference(), keras.batch(), false);
        StockAgreement.assertFloatAgrees(stock, subject(keras));
    }

    @ParameterizedTest
    @EnumSource
    void stepInFloatIsStocks(KerasNetwork keras) throws Exception {
        Model stock = keras.reference();
        Model own = keras.network();
        INDArray before = stock.params().dup();
        assertEquals(before, own.params());
        step(stock, keras.batch());
        try (MixedPrecision amp = new Subject(own, keras.batch(), false).enable(Precision.FLOAT)) {
            step(own, keras.batch());
            assertEquals(0, amp.stepsSkipped());
        }
        double update = stock.params().distance2(before);
        double difference = stock.params().distance2(own.params());
        assertTrue(difference <= FLOAT_ERROR * update, () -> difference + " of an update of " + update);
    }

    private static void step(Model network, DataSet batch) {
        Nd4j.getRandom().setSeed(5);
        Networks.fit(network, batch);
    }

    /** A later release of DL4J that trains them needs no reference of another kind. */
    @ParameterizedTest
    @EnumSource(names = {"DEPTHWISE", "BRANCHES"})
    void convolutionsOfKerasDontTrainInStockDl4j(KerasNetwork keras) throws Exception {
        Model network = keras.network();
        RuntimeException thrown = assertThrows(RuntimeException.class, () -> step(network, keras.batch()));
        String expected = keras == KerasNetwork.BRANCHES ? "Index -1 out of bounds" : "Op [multiply] execution failed";
        assertTrue(thrown.getMessage().startsWith(expected), thrown.getMessage());
    }

    @ParameterizedTest
    @EnumSource
    void bfloat16IsAsCloseAsRoundedWeights(KerasNetwork keras) throws Exception {
        StockAgreement.assertBfloat16IsClose(subject(keras));
    }

    @ParameterizedTest
    @EnumSource
    void trainedNetworkIsSavedAsDl4jsOwn(KerasNetwork keras) throws Exception {
        Subject subject = subject(keras);
        Model network = subject.network();
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        try (MixedPrecision amp = subject.enable(Types.halfPrecision())) {
            step(network, keras.batch());
            double first = network.score();
            for (int i = 0; i < STEPS; i++) {
                step(network, keras.batch());
            }
            assertTrue(network.score() < 0.9 * first, () -> first + " became " + network.score());
            assertEquals(0, amp.stepsSkipped());
            ModelSerializer.writeModel(network, file, true);
        }
        Map<String, String> entries = entries(file.toByteArray());
        assertEquals(Set.of("configuration.json", "coefficients.bin", "updaterState.bin"), entries.keySet());
        assertFalse(entries.get("configuration.json").contains("dl4jamp"));
        ByteArrayInputStream stream = new ByteArrayInputStream(file.toByteArray());
        Model restored = network instanceof ComputationGraph
                ? ModelSerializer.restoreComputationGraph(stream, true)
                : ModelSerializer.restoreMultiLayerNetwork(stream, true);
        assertFalse(MixedPrecision.of(restored).isPresent());
        assertEquals(network.params(), restored.params());
        assertEquals(subject.output(), new Subject(restored, keras.batch(), false).output());
    }

    private static Map<String, String> entries(byte[] file) throws IOException {
        Map<String, String> entries = new HashMap<>();
        try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(file))) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                entries.put(entry.getName(), new String(zip.readAllBytes(), StandardCharsets.UTF_8));
            }
        }
        return entries;
    }

    private static Subject subject(KerasNetwork keras) throws Exception {
        return new Subject(keras.network(), keras.batch(), false);
    }
}
