package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.List;
import java.util.OptionalDouble;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

class LayerWatchTest {
    private final MultiLayerNetwork network =
            SmallNetwork.of(new Sgd(0.1), SmallNetwork.hidden("first", 5), SmallNetwork.hidden("second", 6));
    private final DataSet data = new DataSet(Networks.uniform(1, 2, 4), Nd4j.eye(2));

    private static AmpConfig half(boolean layerScales) {
        return AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .layerScales(layerScales)
                .build();
    }

    /** On ND4J's CPU backend twins compute in FLOAT, and need no scale. */
    @Test
    void aLayerThatNeedsNoScaleHasNone() {
        LayerWatch watch = LayerWatch.begin(network, MixedPrecision.enable(network, half(true)));
        network.fit(data);
        assertEquals(
                DataType.FLOAT, watch.layers().get(1).gradient().orElseThrow().type());
        assertEquals(OptionalDouble.empty(), watch.scale("first"));
    }

    @Test
    void withALossScaleNoLayerHasOneOfItsOwn() {
        LayerWatch watch = LayerWatch.begin(network, MixedPrecision.enable(network, half(false)));
        network.fit(data);
        assertFalse(watch.layers().isEmpty());
        assertEquals(OptionalDouble.empty(), watch.scale("first"));
    }

    @Test
    void aWatchEndsWithTheNextIteration() {
        LayerWatch watch = LayerWatch.begin(network, MixedPrecision.enable(network, half(true)));
        network.fit(data);
        List<LayerStatisticsListener.Layer> layers = watch.layers();
        network.fit(new DataSet(data.getFeatures().mul(2), data.getLabels()));
        assertEquals(layers, watch.layers());
    }

    @Test
    void aClosedWatchLooksNoMore() {
        LayerWatch watch = LayerWatch.begin(network, MixedPrecision.enable(network, half(true)));
        watch.close();
        watch.close();
        network.fit(data);
        assertEquals(List.of(), watch.layers());
    }
}
