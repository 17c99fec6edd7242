package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.dataset.adapter.SingletonMultiDataSetIterator;
import org.nd4j.linalg.learning.config.Nesterovs;

/** Several inputs, several outputs, and masks of one of them. */
class MultiDataSetTest {
    /** Vectors and sequences in, classes and a number out. */
    private static ComputationGraph graph() {
        return Networks.init(Networks.builder(new Nesterovs(0.02, 0.9))
                .graphBuilder()
                .addInputs("vector", "sequence")
                .setInputTypes(InputType.feedForward(20), InputType.recurrent(5))
                .addLayer("dense", Networks.dense(16, Activation.TANH), "vector")
                .addLayer("lstm", new LSTM.Builder().nOut(12).build(), "sequence")
                .addLayer("last", new GlobalPoolingLayer(), "lstm")
                .addLayer("both", Networks.dense(24, Activation.TANH), "dense", "last")
                .addLayer("class", Networks.softmax(3), "both")
                .addLayer("number", Networks.regression(1), "both")
                .setOutputs("class", "number")
                .build());
    }

    private static MultiDataSet data() {
        DataSet vectors = Networks.vectors(12, 20, 3);
        DataSet sequences = Networks.maskedSequences(12, 5, 3, 7);
        return new MultiDataSet(
                new INDArray[] {vectors.getFeatures(), sequences.getFeatures()},
                new INDArray[] {vectors.getLabels(), vectors.getFeatures().mean(true, 1)},
                new INDArray[] {null, sequences.getFeaturesMaskArray()},
                null);
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Side#here")
    void aGraphWithSeveralInputsAndOutputsLearnsAsInFp32(Side side) {
        ComputationGraph fp32 = graph();
        ComputationGraph mixed = graph();
        INDArray before = mixed.params().dup();
        MixedPrecision amp = side.enable(mixed);
        for (ComputationGraph network : List.of(fp32, mixed)) {
            network.fit(data());
            network.fit(new SingletonMultiDataSetIterator(data()), 3);
        }
        assertEquals(4, amp.stepsTaken());
        side.assertLearnedAlike(before, fp32, mixed);
        assertEquals(fp32.score(data()), mixed.score(data()), side.ofScore(fp32.score(data())));
        MultiDataSet data = data();
        INDArray[] expected = fp32.output(false, data.getFeatures(), data.getFeaturesMaskArrays());
        INDArray[] actual = mixed.output(false, data.getFeatures(), data.getFeaturesMaskArrays());
        for (int i = 0; i < 2; i++) {
            side.assertClose(expected[i], actual[i], "output " + i);
        }
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Side#here")
    void aMultiLayerNetworkTakesOneToo(Side side) {
        MultiLayerNetwork fp32 = (MultiLayerNetwork) Kind.MULTI_LAYER.network();
        MultiLayerNetwork mixed = (MultiLayerNetwork) Kind.MULTI_LAYER.network();
        INDArray before = mixed.params().dup();
        MixedPrecision amp = side.enable(mixed);
        MultiDataSet data =
                new MultiDataSet(Kind.data().getFeatures(), Kind.data().getLabels());
        for (MultiLayerNetwork network : List.of(fp32, mixed)) {
            network.fit(data);
            network.fit(new SingletonMultiDataSetIterator(data), 2);
        }
        assertEquals(3, amp.stepsTaken());
        side.assertLearnedAlike(before, fp32, mixed);
    }
}
