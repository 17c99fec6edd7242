package org.dl4jamp.benchmarks.cases;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.zoo.model.UNet;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.Adam;

class UnetCaseTest {
    private static final int CONVOLUTIONS = 24;

    @Test
    void itIsTheZoosNetworkButForTheUpdaterDropoutAndTheL2Term() {
        ComputationGraph zoo = UNet.builder()
                .seed(20260108)
                .inputShape(new int[] {3, 16, 16})
                .build()
                .init();
        ComputationGraphConfiguration expected = zoo.getConfiguration();
        for (String name : List.of("drop4", "drop5")) {
            assertNotNull(layer(expected, name).getIDropout(), name);
            layer(expected, name).setIDropout(null);
        }
        int changed = 0;
        for (String name : expected.getVertices().keySet()) {
            if (expected.getVertices().get(name) instanceof LayerVertex
                    && layer(expected, name) instanceof BaseLayer withWeights
                    && zoo.getLayer(name).numParams() > 0) {
                assertEquals(new AdaDelta(), withWeights.getIUpdater(), name);
                assertEquals(1, withWeights.getRegularization().size(), name);
                withWeights.setIUpdater(new Adam(1e-4));
                withWeights.setRegularization(List.of());
                changed++;
            }
        }
        assertEquals(CONVOLUTIONS, changed);
        ComputationGraph network = (ComputationGraph) new UnetCase(16, 2, 64).network();
        for (String name : expected.getVertices().keySet()) {
            if (expected.getVertices().get(name) instanceof LayerVertex
                    && zoo.getLayer(name).numParams() > 0) {
                assertEquals(layer(expected, name), layer(network.getConfiguration(), name), name);
            }
        }
        assertEquals(
                expected.getVertices().keySet(),
                network.getConfiguration().getVertices().keySet());
        assertEquals(expected.getVertexInputs(), network.getConfiguration().getVertexInputs());
        assertEquals(zoo.params(), network.params());
    }

    private static Layer layer(ComputationGraphConfiguration configuration, String name) {
        return ((LayerVertex) configuration.getVertices().get(name))
                .getLayerConf()
                .getLayer();
    }

    @Test
    void halfTheWidthIsHalfTheChannelsOfEachLayerButTheLastTwo() {
        ComputationGraph network = (ComputationGraph) new UnetCase(16, 2, 32).network();
        for (Map.Entry<String, List<Long>> inputsAndOutputs : Map.of(
                        "conv1-1", List.of(3L, 32L),
                        "conv5-2", List.of(512L, 512L),
                        "up6-2", List.of(512L, 256L),
                        "conv6-1", List.of(512L, 256L),
                        "conv9-1", List.of(64L, 32L),
                        "conv9-3", List.of(32L, 2L),
                        "conv10", List.of(2L, 1L))
                .entrySet()) {
            String name = inputsAndOutputs.getKey();
            INDArray weights = network.getLayer(name).getParam("W");
            assertEquals(inputsAndOutputs.getValue(), List.of(weights.size(1), weights.size(0)), name);
        }
    }

    @Test
    void brightPixelsAreThoseWhoseChannelsSumUpToMoreThanZero() {
        DataSet batch = TinyCases.unet().batch();
        INDArray images = batch.getFeatures();
        INDArray labels = batch.getLabels();
        assertArrayEquals(new long[] {2, 1, 16, 16}, labels.shape());
        int bright = 0;
        for (int image = 0; image < 2; image++) {
            for (int row = 0; row < 16; row++) {
                for (int column = 0; column < 16; column++) {
                    float sum = images.getFloat(image, 0, row, column)
                            + images.getFloat(image, 1, row, column)
                            + images.getFloat(image, 2, row, column);
                    assertEquals(sum > 0 ? 1 : 0, labels.getFloat(image, 0, row, column));
                    bright += sum > 0 ? 1 : 0;
                }
            }
        }
        assertTrue(bright > 100 && bright < 412, "a mixture of both: " + bright);
    }
}
