package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;

/** No computation uses memory freed by closing: that would end the process. */
class ClosingTest {
    private static final int TIMES = 150;

    private static AmpConfig config() {
        return AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();
    }

    /** A way of computing a network's output in another thread. DL4J synchronizes the first, not the others. */
    private record Use(String name, MultiLayerNetwork network, Runnable run) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static Stream<Use> uses() {
        MultiLayerNetwork cnn = Networks.init(Networks.cnn());
        DataSet images = Networks.images(2, 3, 12, 3);
        MultiLayerNetwork lstm = Networks.init(Networks.lstm());
        INDArray step = Networks.uniform(1, 2, 5, 1);
        return Stream.of(
                new Use("output", cnn, () -> cnn.output(images.getFeatures())),
                new Use("evaluate", cnn, () -> cnn.evaluate(new SingletonDataSetIterator(images))),
                new Use("score", cnn, () -> cnn.score(images)),
                new Use(
                        "calculateGradients",
                        cnn,
                        () -> cnn.calculateGradients(images.getFeatures(), images.getLabels(), null, null)),
                new Use("rnnTimeStep", lstm, () -> lstm.rnnTimeStep(step)));
    }

    @ParameterizedTest
    @MethodSource("uses")
    void closingWhileAnotherThreadComputesLeavesTheProcessAlive(Use use) throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        CompletableFuture<Long> computing = CompletableFuture.supplyAsync(() -> {
            long passes = 0;
            while (!stop.get()) {
                passes++;
                try {
                    use.run.run();
                } catch (RuntimeException e) {
                    // Layers were exchanged in the middle of what DL4J doesn't synchronize: on a slow machine in each
                    // pass.
                }
            }
            return passes;
        });
        for (int i = 0; i < TIMES; i++) {
            MixedPrecision amp = MixedPrecision.enable(use.network, config());
            Thread.sleep(2);
            amp.close();
        }
        stop.set(true);
        assertTrue(computing.get(60, TimeUnit.SECONDS) > 0);
        use.run.run();
    }

    @Test
    void aLayerThatWasKeptSaysThatItIsClosed() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        INDArray features = Networks.uniform(2, 4, 20);
        MixedPrecision amp = MixedPrecision.enable(network, config());
        network.output(features);
        Layer kept = network.getLayer(1);
        INDArray input = Networks.uniform(3, 4, 32);
        amp.close();
        String message = assertThrows(
                        AmpException.class, () -> kept.activate(input, false, LayerWorkspaceMgr.noWorkspaces()))
                .getMessage();
        assertTrue(message.contains("closed"), message);
    }

    @Test
    void aVertexThatWasKeptSaysThatItIsClosed() {
        ComputationGraph graph = Networks.init(Networks.residual());
        MixedPrecision amp = MixedPrecision.enable(graph, config());
        graph.output(Networks.images(2, 3, 8, 3).getFeatures());
        GraphVertex kept = graph.getVertices()[graph.getVertex("add").getVertexIndex()];
        assertEquals("add", kept.getVertexName());
        amp.close();
        String message = assertThrows(AmpException.class, () -> kept.doForward(false, LayerWorkspaceMgr.noWorkspaces()))
                .getMessage();
        assertTrue(message.contains("closed"), message);
    }

    @Test
    void aNetworkThatWasClosedItselfSaysSo() {
        assertRefusesAfter((network, features) -> network.close());
    }

    @Test
    void featuresThatWereClosedAreRefused() {
        assertRefusesAfter((network, features) -> features.close());
    }

    private static void assertRefusesAfter(BiConsumer<MultiLayerNetwork, INDArray> closing) {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        INDArray features = Networks.uniform(4, 4, 20);
        MixedPrecision.enable(network, config());
        network.output(features);
        closing.accept(network, features);
        assertThrows(RuntimeException.class, () -> network.output(features));
    }
}
