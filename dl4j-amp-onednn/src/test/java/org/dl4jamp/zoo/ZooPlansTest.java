package org.dl4jamp.zoo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.deeplearning4j.zoo.model.NASNet;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The plans of the zoo's networks have no row on DL4J's engine. */
class ZooPlansTest {
    @ParameterizedTest
    @MethodSource("org.dl4jamp.zoo.ZooNetwork#small")
    void eachLayerHasAKernel(ZooNetwork zoo) {
        assertPlan(zoo);
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("org.dl4jamp.zoo.ZooNetwork#large")
    void eachLayerOfLargeNetworksHasAKernel(ZooNetwork zoo) {
        assertPlan(zoo);
    }

    private static void assertPlan(ZooNetwork zoo) {
        Subject subject = Subject.of(zoo);
        for (Precision precision : Types.precisions()) {
            try (MixedPrecision amp = subject.enable(precision)) {
                amp.plan().rows().forEach(row -> assertEquals("onednn", row.engine(), row::toString));
            }
        }
    }

    /** A later release of DL4J that makes it belongs among the networks. */
    @Test
    void nasNetCantBeMadeInDl4j() {
        IllegalArgumentException thrown = assertThrows(
                IllegalArgumentException.class,
                () -> NASNet.builder().numClasses(5).build().init());
        assertEquals(
                "Cannot calculate activation types if no inputs have been set (use addInputs(String...))",
                thrown.getMessage());
    }
}
