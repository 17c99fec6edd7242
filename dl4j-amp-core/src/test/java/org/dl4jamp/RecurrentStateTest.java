package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import org.deeplearning4j.nn.api.layers.RecurrentLayer;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.Sgd;

/** The state of recurrent layers between calls and between segments of truncated BPTT. */
class RecurrentStateTest {
    private static final double CLOSE = 0.01;
    private static final DataSet DATA = Networks.sequences(4, 5, 3, 12);

    static Layer[] layers() {
        return new Layer[] {
            new LSTM.Builder().nOut(8).build(),
            new SimpleRnn.Builder().nOut(8).build(),
            new MaskZeroLayer(new LSTM.Builder().nOut(8).build(), 0),
            new FrozenLayerWithBackprop(new LSTM.Builder().nOut(8).build())
        };
    }

    private static MultiLayerConfiguration network(Layer layer) {
        return Networks.builder(new Sgd(0.1))
                .list()
                .layer(layer)
                .layer(new LSTM.Builder().nOut(6).build())
                .layer(Networks.rnnSoftmax(3))
                .setInputType(InputType.recurrent(5))
                .backpropType(BackpropType.TruncatedBPTT)
                .tBPTTLength(4)
                .build();
    }

    private static INDArray step(int from, int to) {
        return DATA.getFeatures()
                .get(NDArrayIndex.all(), NDArrayIndex.all(), NDArrayIndex.interval(from, to))
                .dup();
    }

    private static void assertSteps(MultiLayerNetwork expected, MultiLayerNetwork actual, int from) {
        for (int t = from; t < from + 3; t++) {
            INDArray one = step(t, t + 1);
            Comparison.assertClose(expected.rnnTimeStep(one), actual.rnnTimeStep(one), CLOSE, "step " + t);
        }
    }

    @ParameterizedTest
    @MethodSource("layers")
    void timeStepsFollowFp32ThroughEnablingAndClosing(Layer layer) {
        MultiLayerNetwork fp32 = Networks.init(network(layer));
        MultiLayerNetwork mixed = fp32.clone();
        assertSteps(fp32, mixed, 0);
        try (MixedPrecision amp = MixedPrecision.enable(mixed, Gradients.config(Precision.HALF))) {
            assertTrue(amp.plan().anyHalf());
            assertSteps(fp32, mixed, 3);
        }
        assertSteps(fp32, mixed, 6);
    }

    @Test
    void aLayerThatIsFoundByItsNameIsTheOneThatComputes() {
        MultiLayerNetwork fp32 =
                Networks.init(network(new LSTM.Builder().name("memory").nOut(8).build()));
        MultiLayerNetwork mixed = fp32.clone();
        Object master = mixed.getLayer("memory");
        MixedPrecision amp = MixedPrecision.enable(mixed, Gradients.config(Precision.HALF));
        assertSame(mixed.getLayer(0), mixed.getLayer("memory"));
        assertSteps(fp32, mixed, 0);
        INDArray expected =
                ((RecurrentLayer) fp32.getLayer("memory")).rnnGetPreviousState().get("prevAct");
        INDArray actual = ((RecurrentLayer) mixed.getLayer("memory"))
                .rnnGetPreviousState()
                .get("prevAct");
        Comparison.assertClose(expected, actual.castTo(DataType.FLOAT), CLOSE, "state");
        amp.close();
        assertSame(master, mixed.getLayer("memory"));
        assertEquals(fp32.getLayerNames(), mixed.getLayerNames());
    }

    /** A program may have kept the network's own layer since before. */
    @Test
    void stateThatWasReadInTheNetworksOwnLayerStaysAsItIs() {
        MultiLayerNetwork network =
                Networks.init(network(new LSTM.Builder().nOut(8).build()));
        RecurrentLayer own = (RecurrentLayer) network.getLayer(0);
        MixedPrecision.enable(network, Gradients.config(Precision.HALF));
        network.rnnTimeStep(step(0, 2));
        Map<String, INDArray> state = own.rnnGetPreviousState();
        Map<String, INDArray> copies = new HashMap<>();
        state.forEach((name, value) -> copies.put(name, value.dup()));
        network.rnnTimeStep(step(2, 3));
        network.rnnTimeStep(step(3, 4));
        assertEquals(copies, state);
    }

    @Test
    void stateCanBeReadSetAndCleared() {
        MultiLayerNetwork fp32 =
                Networks.init(network(new LSTM.Builder().nOut(8).build()));
        MultiLayerNetwork mixed = fp32.clone();
        MixedPrecision.enable(mixed, Gradients.config(Precision.HALF));
        INDArray first = mixed.rnnTimeStep(step(0, 2));
        Map<String, INDArray> state = mixed.rnnGetPreviousState(0);
        fp32.rnnTimeStep(step(0, 2));
        fp32.rnnGetPreviousState(0)
                .forEach((name, value) -> Comparison.assertClose(value, state.get(name), CLOSE, name));

        INDArray next = mixed.rnnTimeStep(step(2, 3)).dup();
        mixed.rnnTimeStep(step(3, 4));
        mixed.rnnClearPreviousState();
        assertEquals(first, mixed.rnnTimeStep(step(0, 2)));

        mixed.rnnClearPreviousState();
        mixed.rnnSetPreviousState(0, state);
        mixed.rnnSetPreviousState(1, fp32.rnnGetPreviousState(1));
        Comparison.assertClose(next, mixed.rnnTimeStep(step(2, 3)), CLOSE, "continued");
        mixed.rnnClearPreviousState();
        assertNotEquals(next, mixed.rnnTimeStep(step(2, 3)));
    }

    @ParameterizedTest
    @MethodSource("layers")
    void truncatedBackpropagationFollowsFp32(Layer layer) {
        for (DataSet data : new DataSet[] {DATA, Networks.maskedSequences(4, 5, 3, 12)}) {
            MultiLayerNetwork fp32 = Networks.init(network(layer));
            MultiLayerNetwork mixed = fp32.clone();
            INDArray before = fp32.params().dup();
            MixedPrecision amp = MixedPrecision.enable(mixed, Gradients.config(Precision.HALF));
            for (int i = 0; i < 4; i++) {
                fp32.fit(data);
                mixed.fit(data);
            }
            assertEquals(12, amp.stepsTaken());
            Comparison.assertClose(fp32.params().sub(before), mixed.params().sub(before), 0.03, "what was learned");
        }
    }

    @Test
    void aGraphKeepsItsStateToo() {
        ComputationGraph fp32 = Networks.init(Networks.builder(new Sgd(0.1))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.recurrent(5))
                .addLayer("a", new LSTM.Builder().nOut(8).build(), "in")
                .addLayer("b", new LSTM.Builder().nOut(6).build(), "a")
                .addLayer("out", Networks.rnnSoftmax(3), "b")
                .setOutputs("out")
                .backpropType(BackpropType.TruncatedBPTT)
                .tBPTTLength(4)
                .build());
        ComputationGraph mixed = fp32.clone();
        INDArray before = fp32.params().dup();
        MixedPrecision amp = MixedPrecision.enable(mixed, Gradients.config(Precision.HALF));
        for (int t = 0; t < 5; t++) {
            INDArray one = step(t, t + 1);
            Comparison.assertClose(fp32.rnnTimeStep(one)[0], mixed.rnnTimeStep(one)[0], CLOSE, "step " + t);
        }
        fp32.rnnGetPreviousState(0)
                .forEach((name, value) -> Comparison.assertClose(
                        value, mixed.rnnGetPreviousState(0).get(name), CLOSE, name));
        fp32.fit(DATA);
        mixed.fit(DATA);
        assertEquals(3, amp.stepsTaken());
        Comparison.assertClose(fp32.params().sub(before), mixed.params().sub(before), 0.03, "what was learned");
    }

    @Test
    void sequencesMayVaryInLength() {
        MultiLayerNetwork fp32 = Networks.init(Networks.lstm());
        MultiLayerNetwork mixed = fp32.clone();
        MixedPrecision amp = MixedPrecision.enable(mixed, Gradients.config(Precision.HALF));
        for (int steps : new int[] {9, 2, 5, 1, 12}) {
            DataSet data = Networks.maskedSequences(4, 5, 3, steps);
            Comparison.assertClose(
                    Comparison.output(fp32, data), Comparison.output(mixed, data), CLOSE, steps + " steps");
            mixed.fit(data);
            fp32.fit(data);
        }
        assertEquals(5, amp.stepsTaken());
    }
}
