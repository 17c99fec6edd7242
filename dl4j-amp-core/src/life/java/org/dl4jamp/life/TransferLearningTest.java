package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.transferlearning.FineTuneConfiguration;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.deeplearning4j.nn.weights.WeightInit;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** New networks made of enabled ones. */
class TransferLearningTest {
    private static FineTuneConfiguration fineTuning() {
        return new FineTuneConfiguration.Builder()
                .updater(new Sgd(0.1))
                .l2(1e-3)
                .seed(5)
                .build();
    }

    /** Another updater, the first layer frozen, and a new output layer for five classes. */
    private static Model transferred(Model network) {
        Nd4j.getRandom().setSeed(17);
        if (network instanceof MultiLayerNetwork layers) {
            return new TransferLearning.Builder(layers)
                    .fineTuneConfiguration(fineTuning())
                    .setFeatureExtractor(0)
                    .nOutReplace(3, 5, WeightInit.XAVIER)
                    .build();
        }
        return new TransferLearning.GraphBuilder((ComputationGraph) network)
                .fineTuneConfiguration(fineTuning())
                .setFeatureExtractor("first")
                .nOutReplace("out", 5, WeightInit.XAVIER)
                .build();
    }

    private static Layer first(Model network) {
        return network instanceof MultiLayerNetwork layers
                ? layers.getLayer(0)
                : ((ComputationGraph) network).getLayer("first");
    }

    private static DataSet newTask() {
        return new DataSet(Kind.data().getFeatures(), Networks.oneHot(48, 5));
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Kind#everywhere")
    void whatIsMadeOfAnEnabledNetworkIsWhatIsMadeOfAPlainOne(Kind kind, Side side) {
        Model network = kind.network();
        Kind.fit(network, Kind.data());
        Model expected = transferred(network);
        MixedPrecision amp = side.enable(network);
        Model actual = transferred(network);
        assertFalse(Side.isEnabled(actual));
        assertTrue(Side.isEnabled(network));
        assertEquals(expected.params(), actual.params());
        assertEquals(json(expected), json(actual));
        for (Model each : List.of(expected, actual)) {
            for (int i = 0; i < 3; i++) {
                Kind.fit(each, newTask());
            }
        }
        assertEquals(expected.params(), actual.params(), "both train in FP32");
        Kind.fit(network, Kind.data());
        assertEquals(1, amp.stepsTaken());
    }

    private static String json(Model network) {
        return network instanceof MultiLayerNetwork layers
                ? layers.getLayerWiseConfigurations().toJson()
                : ((ComputationGraph) network).getConfiguration().toJson();
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Kind#everywhere")
    void aFineTunedNetworkLearnsAsInFp32AndWhatIsFrozenStays(Kind kind, Side side) {
        Model enabled = kind.network();
        side.enable(enabled);
        Model fp32 = transferred(kind.network());
        Model mixed = transferred(enabled);
        INDArray before = fp32.params().dup();
        assertEquals(before, mixed.params());
        MixedPrecision amp = side.enable(mixed);
        INDArray frozen = first(mixed).params().dup();
        for (int i = 0; i < 5; i++) {
            Kind.fit(fp32, newTask());
            Kind.fit(mixed, newTask());
        }
        assertEquals(5, amp.stepsTaken());
        assertTrue(first(mixed) instanceof FrozenLayer);
        assertEquals(frozen, first(mixed).params());
        side.assertLearnedAlike(before, fp32, mixed);
    }
}
