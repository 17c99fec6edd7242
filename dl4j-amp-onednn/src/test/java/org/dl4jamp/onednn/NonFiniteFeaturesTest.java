package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.Stream;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** NaN, infinite and huge features give the same results as in DL4J: no plausible numbers from meaningless features. */
class NonFiniteFeaturesTest {
    private static final float[] SPECIAL = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, 1e30f, -1e38f};

    static Stream<Arguments> cases() {
        return Stream.of(NetworkOfKind.values()).flatMap(network -> Stream.of(Precision.FLOAT, Precision.BFLOAT16)
                .filter(precision ->
                        precision == Precision.FLOAT || Types.here().contains(DataType.BFLOAT16))
                .map(precision -> Arguments.of(network, precision)));
    }

    static AmpConfig config(Precision precision) {
        return AmpConfig.builder().precision(precision).engine("onednn").build();
    }

    static void assertAsStock(String what, INDArray expected, INDArray actual, Precision precision) {
        float[] stock = expected.dup('c').data().asFloat();
        float[] own = actual.dup('c').data().asFloat();
        assertArrayEquals(expected.shape(), actual.shape(), what);
        double error = precision == Precision.FLOAT ? 1e-5 : 0.05;
        for (int i = 0; i < stock.length; i++) {
            // What a maximum of windows makes of NaN depends on the order in memory in DL4J, too.
            boolean moreOfIt = precision != Precision.FLOAT && Float.isNaN(own[i]);
            assertEquals(moreOfIt ? Float.NaN : stock[i], own[i], error, what + "[" + i + "]");
        }
    }

    private static INDArray output(ComputationGraph network, INDArray[] inputs) {
        INDArray[] own = Stream.of(inputs).map(INDArray::dup).toArray(INDArray[]::new);
        return network.output(own)[0];
    }

    private static void assertOutputsAsStock(
            NetworkOfKind kind,
            Activation activation,
            ComputationGraph stock,
            ComputationGraph network,
            Precision precision) {
        for (float special : SPECIAL) {
            String what = kind + " with " + activation + " and " + special;
            INDArray[] inputs = kind.inputs(special);
            assertAsStock(what, output(stock, inputs), output(network, inputs), precision);
            INDArray[] usual = kind.inputs(7);
            assertAsStock(what + ", then usual ones", output(stock, usual), output(network, usual), precision);
        }
    }

    private static EnumSet<Activation> activations(NetworkOfKind kind, Precision precision) {
        boolean hasNone = kind == NetworkOfKind.LSTM_LAYER
                || kind == NetworkOfKind.BIDIRECTIONAL
                || kind == NetworkOfKind.POOLED_SEQUENCE;
        if (hasNone || precision != Precision.FLOAT) {
            return EnumSet.of(Activation.RELU);
        }
        return kind == NetworkOfKind.DENSE
                ? EnumSet.complementOf(EnumSet.of(Activation.RRELU))
                : EnumSet.of(Activation.RELU, Activation.TANH, Activation.SIGMOID, Activation.RELU6);
    }

    private static void assertGivesWhatDl4jGives(
            NetworkOfKind kind, Precision precision, Function<ComputationGraph, AutoCloseable> beginning)
            throws Exception {
        for (Activation activation : activations(kind, precision)) {
            ComputationGraph network = kind.make(activation);
            ComputationGraph stock = network.clone();
            try (AutoCloseable mode = beginning.apply(network)) {
                assertOutputsAsStock(kind, activation, stock, network, precision);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void ofAnEnabledNetworkGiveWhatDl4jGives(NetworkOfKind kind, Precision precision) throws Exception {
        assertGivesWhatDl4jGives(kind, precision, network -> MixedPrecision.enable(network, config(precision)));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void inInferenceModeGiveWhatDl4jGives(NetworkOfKind kind, Precision precision) throws Exception {
        assertGivesWhatDl4jGives(kind, precision, network -> MixedPrecision.inference(network, config(precision)));
    }

    @Test
    void ofOneExampleMakeItsOutputsNaNAndNoOthers() {
        ComputationGraph network = NetworkOfKind.DENSE.make(Activation.RELU);
        try (MixedPrecision amp = MixedPrecision.enable(network, config(Precision.FLOAT))) {
            INDArray output = output(network, NetworkOfKind.DENSE.inputs(Float.NaN));
            assertTrue(output.getRow(2).isNaN().all(), output.toString());
            assertTrue(!output.getRow(1).isNaN().any(), output.toString());
        }
    }

    @ParameterizedTest
    @MethodSource("recurrent")
    void inTimeStepsStayInTheState(NetworkOfKind kind, boolean inference) {
        ComputationGraph network = kind.make(Activation.TANH);
        ComputationGraph stock = network.clone();
        try (AutoCloseable mode = inference
                ? MixedPrecision.inference(network, config(Precision.FLOAT))
                : MixedPrecision.enable(network, config(Precision.FLOAT))) {
            for (int step = 0; step < 4; step++) {
                INDArray features = gaussian(new Random(step), 1, 6, 5, 1);
                if (step == 1) {
                    features.putScalar(new int[] {2, 1, 0}, Float.NaN);
                    features.putScalar(new int[] {4, 1, 0}, Float.POSITIVE_INFINITY);
                }
                assertAsStock(
                        "step " + step,
                        stock.rnnTimeStep(features.dup())[0],
                        network.rnnTimeStep(features.dup())[0],
                        Precision.FLOAT);
            }
            stock.rnnClearPreviousState();
            network.rnnClearPreviousState();
            INDArray features = gaussian(new Random(9), 1, 6, 5, 1);
            assertAsStock("cleared", stock.rnnTimeStep(features)[0], network.rnnTimeStep(features)[0], Precision.FLOAT);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    static Stream<Arguments> recurrent() {
        return Stream.of(NetworkOfKind.LSTM_LAYER, NetworkOfKind.SIMPLE_RNN)
                .flatMap(kind -> Stream.of(Arguments.of(kind, true), Arguments.of(kind, false)));
    }

    @Test
    void aScoreOfThemIsNaN() {
        ComputationGraph network = NetworkOfKind.DENSE.make(Activation.RELU);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, 6, 4);
        labels.getColumn(1).assign(1);
        DataSet data = new DataSet(NetworkOfKind.DENSE.inputs(Float.NaN)[0], labels);
        try (MixedPrecision amp = MixedPrecision.enable(network, config(Precision.FLOAT))) {
            assertTrue(Double.isNaN(network.score(data)));
        }
        try (InferenceMode mode = MixedPrecision.inference(network, config(Precision.FLOAT))) {
            assertTrue(Double.isNaN(network.score(data)));
        }
    }
}
