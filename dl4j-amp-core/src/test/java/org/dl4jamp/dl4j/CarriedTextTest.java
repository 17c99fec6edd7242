package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Optional;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.dataset.DataSet;

class CarriedTextTest {
    private static final String TEXT = "{\"a\": \"b_c ä\"}";

    @Test
    void aMultiLayerConfigurationCarriesItThroughJsonYamlAndClones() {
        MultiLayerConfiguration plain = Networks.mlp();
        MultiLayerConfiguration carrier = CarriedText.attach(CarriedText.attach(plain, "another"), TEXT);
        assertEquals(Optional.empty(), CarriedText.read(plain));
        assertEquals(Optional.of(TEXT), CarriedText.read(carrier));
        assertEquals(Optional.of(TEXT), CarriedText.read(carrier.clone()));
        assertEquals(Optional.of(TEXT), CarriedText.read(MultiLayerConfiguration.fromJson(carrier.toJson())));
        assertEquals(Optional.of(TEXT), CarriedText.read(MultiLayerConfiguration.fromYaml(carrier.toYaml())));
    }

    @Test
    void aGraphsConfigurationCarriesItThroughJsonYamlAndClones() {
        ComputationGraphConfiguration plain = Networks.residual();
        ComputationGraphConfiguration carrier = CarriedText.attach(CarriedText.attach(plain, "another"), TEXT);
        assertEquals(Optional.empty(), CarriedText.read(plain));
        assertEquals(Optional.of(TEXT), CarriedText.read(carrier));
        assertEquals(Optional.of(TEXT), CarriedText.read(carrier.clone()));
        assertEquals(Optional.of(TEXT), CarriedText.read(ComputationGraphConfiguration.fromJson(carrier.toJson())));
        assertEquals(Optional.of(TEXT), CarriedText.read(ComputationGraphConfiguration.fromYaml(carrier.toYaml())));
    }

    @Test
    void theConstraintThatHoldsItIsNeverApplied() {
        MultiLayerNetwork expected = Networks.init(Networks.mlp());
        MultiLayerNetwork carrier = Networks.init(CarriedText.attach(Networks.mlp(), TEXT));
        DataSet data = Networks.vectors(8, 20, 3);
        for (int step = 0; step < 3; step++) {
            expected.fit(data);
            carrier.fit(data);
        }
        assertEquals(expected.params(), carrier.params());
    }

    @Test
    void aGraphWithoutLayersHasNothingToHoldIt() {
        ComputationGraphConfiguration empty = new NeuralNetConfiguration.Builder()
                .graphBuilder()
                .addInputs("in")
                .addVertex("scale", new org.deeplearning4j.nn.conf.graph.ScaleVertex(2), "in")
                .setOutputs("scale")
                .build();
        assertThrows(AmpException.class, () -> CarriedText.attach(empty, TEXT));
    }
}
