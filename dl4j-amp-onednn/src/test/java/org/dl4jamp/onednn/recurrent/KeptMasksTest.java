package org.dl4jamp.onednn.recurrent;

import static org.dl4jamp.onednn.Layers.gaussian;

import java.util.Random;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.Pause;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * DL4J's layers keep the mask of a pass that doesn't clear them, and the next pass may use it. A mode that begins or
 * ends between the two changes nothing.
 */
class KeptMasksTest {
    private static final double ERROR = 1e-5;
    private static final AmpConfig FLOAT =
            AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();

    private static MultiLayerNetwork sequences(boolean lstm) {
        Layer recurrent = lstm
                ? new LSTM.Builder().nIn(4).nOut(5).build()
                : new SimpleRnn.Builder().nIn(4).nOut(5).build();
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(1)
                .list()
                .layer(new MaskZeroLayer.Builder()
                        .setUnderlying(recurrent)
                        .setMaskValue(0)
                        .build())
                .layer(new RnnOutputLayer.Builder().nIn(5).nOut(3).build())
                .setInputType(InputType.recurrent(4))
                .build());
    }

    /** Some time steps are zeros, which the first layer masks. */
    private static INDArray halfZeros() {
        INDArray features = gaussian(new Random(1), 1, 2, 4, 6);
        for (int time = 0; time < 3; time++) {
            features.tensorAlongDimension(time, 0, 1).assign(0);
        }
        return features;
    }

    private static INDArray nextSteps() {
        return gaussian(new Random(2), 1, 2, 4, 6);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void timeStepsInInferenceModeUseTheMaskOfAPassBeforeIt(boolean lstm) {
        MultiLayerNetwork stock = sequences(lstm);
        MultiLayerNetwork network = stock.clone();
        stock.activateSelectedLayers(0, 1, halfZeros());
        network.activateSelectedLayers(0, 1, halfZeros());
        INDArray expected = stock.rnnTimeStep(nextSteps());
        try (InferenceMode mode = MixedPrecision.inference(network, FLOAT.forInference())) {
            Agreement.assertWithin("output", expected, network.rnnTimeStep(nextSteps()), ERROR);
        }
        Agreement.assertWithin("next", stock.rnnTimeStep(nextSteps()), network.rnnTimeStep(nextSteps()), ERROR);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void timeStepsInTrainingUseTheMaskOfAPassBeforeEnabling(boolean lstm) {
        MultiLayerNetwork stock = sequences(lstm);
        MultiLayerNetwork network = stock.clone();
        stock.activateSelectedLayers(0, 1, halfZeros());
        network.activateSelectedLayers(0, 1, halfZeros());
        try (MixedPrecision amp = MixedPrecision.enable(network, FLOAT)) {
            Agreement.assertWithin("output", stock.rnnTimeStep(nextSteps()), network.rnnTimeStep(nextSteps()), ERROR);
        }
    }

    @Test
    void masksThatAPauseClearsAreGone() {
        MultiLayerNetwork stock = sequences(true);
        MultiLayerNetwork network = stock.clone();
        try (MixedPrecision amp = MixedPrecision.enable(network, FLOAT)) {
            network.activateSelectedLayers(0, 1, halfZeros());
            try (Pause pause = amp.pause()) {
                network.clear();
            }
            Agreement.assertWithin("output", stock.rnnTimeStep(nextSteps()), network.rnnTimeStep(nextSteps()), ERROR);
        }
    }
}
