package org.dl4jamp.benchmarks.cases;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.List;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.zoo.model.TextGenerationLSTM;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.RmsProp;

class TextGenerationCaseTest {
    /** Truncated backpropagation would make several steps of longer sequences, and PyTorch makes one. */
    @Test
    void itIsTheZoosNetworkButForTheUpdaterAndTheL2Term() {
        TextGenerationCase benchmark = (TextGenerationCase) BenchmarkCases.named("textgen");
        MultiLayerConfiguration zoo = TextGenerationLSTM.builder()
                .totalUniqueCharacters(benchmark.characters())
                .inputShape(new int[] {benchmark.steps(), benchmark.characters()})
                .build()
                .conf();
        for (NeuralNetConfiguration each : zoo.getConfs()) {
            BaseLayer layer = (BaseLayer) each.getLayer();
            assertEquals(new RmsProp(0.01), layer.getIUpdater());
            assertFalse(layer.getRegularization().isEmpty());
            layer.setIUpdater(new Adam(1e-3));
            layer.setRegularization(List.of());
        }
        MultiLayerNetwork expected = new MultiLayerNetwork(zoo);
        expected.init();
        MultiLayerNetwork network = (MultiLayerNetwork) benchmark.network();
        assertEquals(zoo, network.getLayerWiseConfigurations());
        assertEquals(expected.params(), network.params());
        assertEquals(benchmark.steps(), zoo.getTbpttFwdLength());
    }
}
