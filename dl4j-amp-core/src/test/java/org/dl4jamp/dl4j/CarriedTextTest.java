package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.UnaryOperator;
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
        assertCarries(
                Networks.mlp(),
                CarriedText::attach,
                CarriedText::read,
                List.of(
                        MultiLayerConfiguration::clone,
                        carrier -> MultiLayerConfiguration.fromJson(carrier.toJson()),
                        carrier -> MultiLayerConfiguration.fromYaml(carrier.toYaml())));
    }

    @Test
    void aGraphsConfigurationCarriesItThroughJsonYamlAndClones() {
        assertCarries(
                Networks.residual(),
                CarriedText::attach,
                CarriedText::read,
                List.of(
                        ComputationGraphConfiguration::clone,
                        carrier -> ComputationGraphConfiguration.fromJson(carrier.toJson()),
                        carrier -> ComputationGraphConfiguration.fromYaml(carrier.toYaml())));
    }

    private static <C> void assertCarries(
            C plain,
            BiFunction<C, String, C> attach,
            Function<C, Optional<String>> read,
            List<UnaryOperator<C>> copies) {
        C carrier = attach.apply(attach.apply(plain, "another"), TEXT);
        assertEquals(Optional.empty(), read.apply(plain));
        assertEquals(Optional.of(TEXT), read.apply(carrier));
        copies.forEach(copy -> assertEquals(Optional.of(TEXT), read.apply(copy.apply(carrier))));
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
