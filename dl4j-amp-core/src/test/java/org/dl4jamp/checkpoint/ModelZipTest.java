package org.dl4jamp.checkpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;

/** The zip beside the one that DL4J's own serializer writes. */
class ModelZipTest {
    private static final Map<String, byte[]> MORE = Map.of("more", "more".getBytes(StandardCharsets.US_ASCII));

    private final MultiLayerNetwork network = new MultiLayerNetwork(SmallNetworks.dense());
    private final ComputationGraph graph = new ComputationGraph(SmallNetworks.graph());

    ModelZipTest() {
        DataSet batch = SmallNetworks.batch(8, 4);
        network.init();
        network.fit(batch);
        graph.init();
        graph.fit(batch);
    }

    @Test
    void holdsDl4jsEntriesByteByByteAndInItsOrder() throws IOException {
        for (Model model : List.of(network, graph, withoutParameters())) {
            for (boolean saveUpdater : new boolean[] {true, false}) {
                ByteArrayOutputStream stock = new ByteArrayOutputStream();
                ModelSerializer.writeModel(model, stock, saveUpdater);
                Map<String, byte[]> expected = entries(stock);
                expected.putAll(MORE);
                ByteArrayOutputStream stream = new ByteArrayOutputStream();
                ModelZip.zip(model, saveUpdater, MORE, Optional.empty(), stream);
                Map<String, byte[]> actual = entries(stream);
                assertEquals(List.copyOf(expected.keySet()), List.copyOf(actual.keySet()));
                expected.forEach((name, bytes) -> assertArrayEquals(bytes, actual.get(name), name));
            }
        }
    }

    @Test
    void aStreamThatFailsAtAnyByteFailsTheCall() throws IOException {
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        ModelZip.zip(network, true, MORE, Optional.empty(), whole);
        for (int room = 0; room < whole.size(); room += 7) {
            OutputStream full = full(room);
            IOException e =
                    assertThrows(IOException.class, () -> ModelZip.zip(network, true, MORE, Optional.empty(), full));
            assertEquals("No space left on device", e.getMessage());
        }
    }

    private static MultiLayerNetwork withoutParameters() {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .list()
                .layer(new ActivationLayer(Activation.TANH))
                .layer(new LossLayer.Builder().build())
                .build());
    }

    /** A stream with room for so many bytes. */
    private static OutputStream full(int room) {
        return new OutputStream() {
            private int written;

            @Override
            public void write(int b) throws IOException {
                if (written == room) {
                    throw new IOException("No space left on device");
                }
                written++;
            }
        };
    }

    private static Map<String, byte[]> entries(ByteArrayOutputStream zip) throws IOException {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        try (ZipInputStream stream = new ZipInputStream(new ByteArrayInputStream(zip.toByteArray()))) {
            for (ZipEntry entry = stream.getNextEntry(); entry != null; entry = stream.getNextEntry()) {
                entries.put(entry.getName(), stream.readAllBytes());
            }
        }
        return entries;
    }
}
