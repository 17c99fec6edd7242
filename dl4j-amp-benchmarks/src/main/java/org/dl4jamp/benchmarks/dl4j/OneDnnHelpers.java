package org.dl4jamp.benchmarks.dl4j;

import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.benchmarks.side.UnavailableException;

/** DL4J's own way of running layers through oneDNN. */
public final class OneDnnHelpers {
    private OneDnnHelpers() {}

    /**
     * Makes sure that DL4J uses helpers in a network.
     *
     * @throws UnavailableException if no layer has one
     */
    public static void require(NeuralNetwork network) {
        List<org.deeplearning4j.nn.api.Layer> layers = Arrays.asList(
                network instanceof ComputationGraph graph
                        ? graph.getLayers()
                        : ((MultiLayerNetwork) network).getLayers());
        if (layers.stream().allMatch(layer -> layer.getHelper() == null)) {
            throw new UnavailableException(
                    "DL4J has oneDNN helpers for 2D convolutions, batch normalization, pooling and local response"
                            + " normalization only:"
                            + " none for a layer of this network; without them it is the side dl4j-fp32");
        }
    }
}
