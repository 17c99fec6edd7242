package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

/** A step that overflows in layers that wrap others, whose gradients DL4J's own initializers can't take apart. */
class OverflowOfWrappedLayersTest {
    static Stream<Layer> wrapped() {
        LSTM lstm = new LSTM.Builder().nOut(4).build();
        return Stream.of(
                new Bidirectional(lstm),
                new Bidirectional(new SimpleRnn.Builder().nOut(4).build()),
                new MaskZeroLayer.Builder().setUnderlying(lstm).setMaskValue(0).build());
    }

    @ParameterizedTest
    @MethodSource("wrapped")
    void theStepIsSkippedAndTheScaleIsLowered(Layer layer) {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Adam(1e-2))
                .list()
                .layer(layer)
                .layer(Networks.rnnSoftmax(2))
                .setInputType(InputType.recurrent(3, 5))
                .build());
        DataSet data = Networks.sequences(4, 3, 2, 5);
        INDArray before = network.params().dup();
        try (MixedPrecision amp = MixedPrecision.enable(
                network,
                AmpConfig.builder()
                        .precision(Precision.HALF)
                        .engine("nd4j")
                        // Gradients of the output layer are finite, so that the search goes on to the layer.
                        .keepFull("layer1")
                        .scaleSearch(0)
                        .lossScaler(DynamicLossScaler.builder()
                                .initialScale(1 << 24)
                                .build())
                        .build())) {
            network.fit(data);
            assertEquals(1, amp.stepsSkipped());
            assertEquals(1 << 23, amp.lossScale());
        }
        assertEquals(before, network.params());
    }
}
