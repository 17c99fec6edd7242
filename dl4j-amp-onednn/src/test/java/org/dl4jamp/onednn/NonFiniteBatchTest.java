package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

/** Training steps with non-finite features, behind kernels that lose NaN. */
class NonFiniteBatchTest {
    /** oneDNN's ReLU makes zero of NaN: loss and gradients are finite. */
    @ParameterizedTest
    @ValueSource(floats = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY})
    void isSkippedThoughReluMakesFiniteNumbersOfItsFeatures(float bad) {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Adam(0.1))
                .list()
                .layer(new ActivationLayer(Activation.RELU))
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(5))
                .build());
        DataSet data = Networks.vectors(8, 5, 3);
        AmpConfig config =
                AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            network.fit(data);
            INDArray before = network.params().dup();
            DataSet broken = new DataSet(data.getFeatures().dup(), data.getLabels());
            broken.getFeatures().putScalar(3, 2, bad);
            network.fit(broken);
            assertEquals(before, network.params());
            assertEquals(1, amp.stepsTaken());
            assertEquals(1, amp.stepsSkipped());
            assertTrue(Double.isNaN(network.score()), () -> "score " + network.score());
        }
    }
}
