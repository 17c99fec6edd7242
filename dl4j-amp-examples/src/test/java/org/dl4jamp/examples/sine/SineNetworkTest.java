package org.dl4jamp.examples.sine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.ops.transforms.Transforms;

class SineNetworkTest {
    @Test
    void hasTheArticlesLayers() {
        MultiLayerNetwork network = new MultiLayerNetwork(SineNetwork.configuration(4, 256, 2));
        network.init();
        // Weights and biases of four convolutions; scale, shift, mean and variance of three normalizations.
        assertEquals((2 * 256 + 256) + 2 * (256 * 256 + 256) + (256 + 1) + 3 * 4 * 256, network.numParams());
    }

    @Test
    void lossIsTheMeanSquaredErrorOverTheGrid() {
        SineGrid grid = SineGrid.ofSize(4);
        MultiLayerNetwork network = new MultiLayerNetwork(SineNetwork.configuration(4, 8, 1));
        network.init();
        double score = network.score(new DataSet(grid.coordinates(), grid.target()), false);
        double byHand = Transforms.pow(network.output(grid.coordinates()).sub(grid.target()), 2)
                .meanNumber()
                .doubleValue();
        assertEquals(byHand, grid.meanOverPoints(score), 1e-6 * byHand);
    }
}
