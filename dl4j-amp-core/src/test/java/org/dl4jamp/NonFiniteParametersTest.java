package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.Consumer;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A network with NaN or infinity among its parameters is refused, and told which parameter has it. */
class NonFiniteParametersTest {
    private static void assertRefused(Consumer<Model> attempt, Model network, String words) {
        Layer[] layers = layers(network).clone();
        INDArray parameters = network.params().dup();
        AmpException refusal = assertThrows(AmpException.class, () -> attempt.accept(network));
        assertTrue(refusal.getMessage().startsWith("network: " + words + "; load a model"), refusal.getMessage());
        assertArrayEquals(layers, layers(network));
        assertArrayEquals(parameters.toFloatVector(), network.params().toFloatVector());
    }

    private static Layer[] layers(Model network) {
        return network instanceof MultiLayerNetwork stack
                ? stack.getLayers()
                : ((ComputationGraph) network).getLayers();
    }

    @ParameterizedTest
    @ValueSource(floats = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY})
    void aNetworkIsRefusedForTrainingAndForInference(float value) {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        Object updater = network.getUpdater(false);
        network.getParam("2_b").putScalar(0, 1, value);
        network.getParam("0_W").putScalar(3, 2, value);
        String words = "its parameter \"0_W\" contains " + (double) value + " at [3, 2]";
        assertRefused(model -> MixedPrecision.enable((MultiLayerNetwork) model), network, words);
        assertRefused(model -> MixedPrecision.inference((MultiLayerNetwork) model), network, words);
        assertSame(updater, network.getUpdater(false));
        assertTrue(MixedPrecision.of(network).isEmpty());
        assertTrue(InferenceMode.of(network).isEmpty());
    }

    @ParameterizedTest
    @ValueSource(floats = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY})
    void aGraphIsRefusedForTrainingAndForInference(float value) {
        ComputationGraph graph = Networks.init(Networks.residual());
        graph.getParam("right_W").putScalar(new int[] {0, 0, 0, 0}, value);
        graph.getParam("a_W").putScalar(new int[] {7, 1, 0, 2}, value);
        String words = "its parameter \"a_W\" contains " + (double) value + " at [7, 1, 0, 2]";
        assertRefused(model -> MixedPrecision.enable((ComputationGraph) model), graph, words);
        assertRefused(model -> MixedPrecision.inference((ComputationGraph) model), graph, words);
        assertTrue(MixedPrecision.of(graph).isEmpty());
        assertTrue(InferenceMode.of(graph).isEmpty());
    }

    @Test
    void onceTheParameterIsMendedTheNetworkTrains() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        network.getParam("0_W").putScalar(3, 2, Float.NaN);
        assertThrows(AmpException.class, () -> MixedPrecision.enable(network));
        network.getParam("0_W").putScalar(3, 2, 0);
        try (MixedPrecision amp = MixedPrecision.enable(network)) {
            network.fit(Networks.vectors(8, 20, 3));
            assertEquals(1, amp.stepsTaken());
        }
    }
}
