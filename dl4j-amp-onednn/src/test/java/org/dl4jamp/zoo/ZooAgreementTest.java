package org.dl4jamp.zoo;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Outputs and gradients of the zoo's networks agree with those of stock DL4J, as {@link StockAgreement} measures. */
class ZooAgreementTest {
    @ParameterizedTest
    @MethodSource("org.dl4jamp.zoo.ZooNetwork#small")
    void floatAgreesWithStock(ZooNetwork zoo) {
        StockAgreement.assertFloatAgrees(Subject.of(zoo));
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("org.dl4jamp.zoo.ZooNetwork#large")
    void floatOfLargeNetworksAgreesWithStock(ZooNetwork zoo) {
        StockAgreement.assertFloatAgrees(Subject.of(zoo));
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.zoo.ZooNetwork#small")
    void bfloat16IsAsCloseAsRoundedWeights(ZooNetwork zoo) {
        StockAgreement.assertBfloat16IsClose(Subject.of(zoo));
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("org.dl4jamp.zoo.ZooNetwork#large")
    void bfloat16OfLargeNetworksIsAsCloseAsRoundedWeights(ZooNetwork zoo) {
        StockAgreement.assertBfloat16IsClose(Subject.of(zoo));
    }
}
