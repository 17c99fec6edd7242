package org.dl4jamp.layer.standin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.layers.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.layers.feedforward.dense.DenseLayer;
import org.deeplearning4j.nn.layers.recurrent.BidirectionalLayer;
import org.deeplearning4j.nn.layers.recurrent.LSTM;
import org.deeplearning4j.nn.layers.recurrent.LastTimeStepLayer;
import org.deeplearning4j.nn.layers.recurrent.MaskZeroLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Substitute;
import org.junit.jupiter.api.Test;

class StandInsTest {
    private static final AmpConfig HALF =
            AmpConfig.builder().precision(Precision.HALF).engine("nd4j").build();

    abstract static class RecurrentOutput extends LSTM implements IOutputLayer {
        private static final long serialVersionUID = 1L;

        RecurrentOutput() {
            super(null, null);
        }
    }

    abstract static sealed class Sealed extends DenseLayer permits Permitted {
        private static final long serialVersionUID = 1L;

        Sealed() {
            super(null, null);
        }
    }

    static final class Permitted extends Sealed {
        private static final long serialVersionUID = 1L;
    }

    @Test
    void classesThatNothingCanExtendOrThatNetworksLookThroughHaveNone() {
        for (Class<?> type : List.of(
                Permitted.class,
                Sealed.class,
                RecurrentOutput.class,
                FrozenLayer.class,
                FrozenLayerWithBackprop.class,
                LastTimeStepLayer.class,
                MaskZeroLayer.class,
                MultiLayerNetwork.class)) {
            assertFalse(StandIns.isSuitable(type), type.getName());
        }
        assertTrue(StandIns.isSuitable(BidirectionalLayer.class));
        assertTrue(StandIns.isSuitable(DenseLayer.class));
    }

    @Test
    void layersOfOneClassShareAClass() {
        List<Layer> dense = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            MultiLayerNetwork network = Networks.init(Networks.mlp());
            MixedPrecision.enable(network, HALF);
            dense.add(network.getLayer(0));
            dense.add(network.getLayer(1));
        }
        assertEquals(1, dense.stream().map(Layer::getClass).distinct().count());
        assertNotSame(dense.get(0), dense.get(1));
    }

    @Test
    void behindAStandInIsItsWrapperAndBehindAnythingElseItself() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        Layer own = network.getLayer(0);
        assertSame(own, StandIn.behind(own));
        MixedPrecision.enable(network, HALF);
        Substitute<?> wrapper = (Substitute<?>) StandIn.behind(network.getLayer(0));
        assertSame(own, wrapper.master());
        assertNull(StandIn.behind(null));
    }
}
