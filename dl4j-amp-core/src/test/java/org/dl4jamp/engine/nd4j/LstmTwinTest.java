package org.dl4jamp.engine.nd4j;

import static org.dl4jamp.engine.nd4j.TestArrays.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.deeplearning4j.nn.api.layers.RecurrentLayer;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.gradient.Gradient;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.nd4j.TwinHarness.Way;
import org.dl4jamp.layer.RecurrentTwinLayer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class LstmTwinTest {
    private static final String ACTIVATION = org.deeplearning4j.nn.layers.recurrent.LSTM.STATE_KEY_PREV_ACTIVATION;
    private static final String MEMORY = org.deeplearning4j.nn.layers.recurrent.LSTM.STATE_KEY_PREV_MEMCELL;

    private final Random random = new Random(13);

    /** DL4J's layer and the twin, on the same numbers. */
    private final class Both {
        private final LSTM conf;
        private final org.deeplearning4j.nn.api.Layer dl4j;
        private final RecurrentTwinLayer twin;
        private INDArray mask;

        Both(int nIn, int units, Activation activation, Activation gate, RNNFormat format) {
            conf = new LSTM.Builder()
                    .nIn(nIn)
                    .nOut(units)
                    .activation(activation)
                    .gateActivationFunction(gate)
                    .dataFormat(format)
                    .build();
            INDArray params = gaussian(random, 0.4, TwinHarness.numberOfParams(conf));
            dl4j = SingleLayer.dl4j(conf, params);
            twin = (RecurrentTwinLayer) TwinHarness.twin(Way.HALF_PRODUCTS, conf, params);
            assertInstanceOf(LstmTwin.class, twin.twin().compute());
        }

        Both masked(int minibatch, int steps) {
            mask = Nd4j.create(DataType.FLOAT, minibatch, steps);
            for (int example = 0; example < minibatch; example++) {
                for (int time = 0; time < steps; time++) {
                    mask.putScalar(example, time, time == example || time > 1 + example ? 0 : 1);
                }
            }
            dl4j.setMaskArray(mask);
            twin.setMaskArray(mask);
            return this;
        }

        RecurrentLayer recurrent() {
            return (RecurrentLayer) dl4j;
        }

        INDArray inFormat(INDArray sequence) {
            return conf.getRnnDataFormat() == RNNFormat.NWC ? sequence.permute(0, 2, 1) : sequence;
        }

        LstmReference reference(INDArray input, Map<String, INDArray> state, boolean half) {
            return new LstmReference(dl4j, input, mask, state.get(ACTIVATION), state.get(MEMORY), half);
        }

        void checkOutput(INDArray input, Map<String, INDArray> state, INDArray expected, INDArray actual) {
            assertEquals(DataType.HALF, actual.dataType());
            LstmReference full = reference(input, state, false);
            LstmReference half = reference(input, state, true);
            Comparison.check("output", inFormat(expected), inFormat(actual), full::output, half::output);
        }

        void checkState(
                INDArray input,
                Map<String, INDArray> before,
                Map<String, INDArray> expected,
                Map<String, INDArray> actual) {
            LstmReference full = reference(input, before, false);
            LstmReference half = reference(input, before, true);
            assertEquals(expected.keySet(), actual.keySet());
            for (INDArray array : actual.values()) {
                assertEquals(DataType.FLOAT, array.dataType());
                assertFalse(array.isAttached());
            }
            Comparison.check(
                    ACTIVATION,
                    expected.get(ACTIVATION),
                    actual.get(ACTIVATION),
                    full::lastActivation,
                    half::lastActivation);
            Comparison.check(MEMORY, expected.get(MEMORY), actual.get(MEMORY), full::lastMemory, half::lastMemory);
        }

        void checkGradients(
                INDArray input,
                Map<String, INDArray> state,
                INDArray epsilon,
                int firstStep,
                Pair<Gradient, INDArray> expected,
                Pair<Gradient, INDArray> actual) {
            LstmReference full = reference(input, state, false).backward(epsilon, firstStep);
            LstmReference half = reference(input, state, true).backward(epsilon, firstStep);
            Map<String, INDArray> dl4jGradients = expected.getFirst().gradientForVariable();
            Map<String, INDArray> gradients = actual.getFirst().gradientForVariable();
            Comparison.check(
                    "W",
                    dl4jGradients.get("W"),
                    gradients.get("W"),
                    full::inputWeightGradient,
                    half::inputWeightGradient);
            Comparison.check(
                    "RW",
                    dl4jGradients.get("RW"),
                    gradients.get("RW"),
                    full::recurrentWeightGradient,
                    half::recurrentWeightGradient);
            long columns = dl4jGradients.get("b").length();
            Comparison.check(
                    "b",
                    dl4jGradients.get("b").reshape(columns),
                    gradients.get("b").reshape(columns),
                    full::biasGradient,
                    half::biasGradient);
            assertEquals(DataType.HALF, actual.getSecond().dataType());
            Comparison.check(
                    "input",
                    inFormat(expected.getSecond()),
                    inFormat(actual.getSecond()),
                    full::inputGradient,
                    half::inputGradient);
        }
    }

    @ParameterizedTest
    @CsvSource({
        // minibatch, nIn, units, steps, activation, gate, format, masked
        "1, 1, 1, 1, TANH, SIGMOID, NCW, false",
        "1, 3, 2, 4, TANH, SIGMOID, NCW, false",
        "3, 1, 4, 3, TANH, SIGMOID, NWC, false",
        "4, 5, 3, 1, TANH, SIGMOID, NCW, false",
        "3, 4, 5, 6, TANH, SIGMOID, NCW, true",
        "2, 7, 3, 4, TANH, SIGMOID, NWC, true",
        "3, 4, 5, 4, TANH, HARDSIGMOID, NCW, false",
        "3, 4, 5, 4, IDENTITY, SIGMOID, NCW, true",
        "2, 3, 4, 3, SIGMOID, HARDSIGMOID, NWC, false",
        "2, 3, 4, 3, RELU, SIGMOID, NCW, false"
    })
    void agreesWithDl4jsLayerWithinTheRoundingOfFactorsAndResults(
            int minibatch,
            int nIn,
            int units,
            int steps,
            Activation activation,
            Activation gate,
            RNNFormat format,
            boolean masked) {
        Both both = new Both(nIn, units, activation, gate, format);
        if (masked) {
            both.masked(minibatch, steps);
        }
        INDArray input = gaussian(random, 1, minibatch, nIn, steps);
        INDArray epsilon = gaussian(random, 1, minibatch, units, steps);
        SingleLayer.Result expected = SingleLayer.run(
                both.dl4j, both.inFormat(input).dup(), both.inFormat(epsilon).dup());
        SingleLayer.Result actual = TwinHarness.runHalf(both.twin, both.inFormat(input), both.inFormat(epsilon));
        Map<String, INDArray> none = Map.of();
        both.checkOutput(input, none, expected.output(), actual.output());
        both.checkGradients(
                input,
                none,
                epsilon,
                0,
                new Pair<>(expected.gradient(), expected.inputGradient()),
                new Pair<>(actual.gradient(), actual.inputGradient()));
    }

    @ParameterizedTest
    @CsvSource({"NCW, 6, 6, false", "NCW, 6, 2, false", "NWC, 5, 3, false", "NCW, 4, 10, true"})
    void continuesFromTheStateOfTheSegmentBeforeInTruncatedBptt(
            RNNFormat format, int steps, int backLength, boolean masked) {
        int minibatch = 3;
        int units = 4;
        Both both = new Both(2, units, Activation.TANH, Activation.SIGMOID, format);
        if (masked) {
            both.masked(minibatch, steps);
        }
        Map<String, INDArray> state = state(minibatch, units);
        both.recurrent().rnnSetPreviousState(new HashMap<>(state));
        both.recurrent().rnnSetTBPTTState(new HashMap<>(state));
        both.twin.rnnSetPreviousState(new HashMap<>(state));
        both.twin.rnnSetTBPTTState(new HashMap<>(state));
        INDArray input = gaussian(random, 1, minibatch, 2, steps);
        INDArray epsilon = gaussian(random, 1, minibatch, units, steps);

        INDArray expected = both.recurrent()
                .rnnActivateUsingStoredState(both.inFormat(input).dup(), true, true, TwinHarness.noWorkspaces());
        INDArray actual = both.twin.rnnActivateUsingStoredState(
                TestArrays.half(both.inFormat(input)), true, true, TwinHarness.noWorkspaces());
        both.checkOutput(input, state, expected, actual);
        both.checkState(input, state, both.recurrent().rnnGetTBPTTState(), both.twin.rnnGetTBPTTState());

        Pair<Gradient, INDArray> expectedGradients = both.recurrent()
                .tbpttBackpropGradient(both.inFormat(epsilon).dup(), backLength, TwinHarness.noWorkspaces());
        Pair<Gradient, INDArray> gradients = both.twin.tbpttBackpropGradient(
                TestArrays.half(both.inFormat(epsilon)), backLength, TwinHarness.noWorkspaces());
        both.checkGradients(input, state, epsilon, Math.max(0, steps - backLength), expectedGradients, gradients);
        both.checkState(input, state, both.recurrent().rnnGetTBPTTState(), both.twin.rnnGetTBPTTState());
    }

    private Map<String, INDArray> state(int minibatch, int units) {
        return Map.of(
                ACTIVATION, gaussian(random, 0.3, minibatch, units).addi(1e-5f),
                MEMORY, gaussian(random, 0.5, minibatch, units).addi(1e-5f));
    }

    @Test
    void doesNotStoreTheStateOfASegmentUnlessAskedTo() {
        Both both = new Both(2, 3, Activation.TANH, Activation.SIGMOID, RNNFormat.NCW);
        INDArray input = TestArrays.half(gaussian(random, 1, 2, 2, 4));
        both.twin.rnnActivateUsingStoredState(input, true, false, TwinHarness.noWorkspaces());
        assertTrue(both.twin.rnnGetTBPTTState().isEmpty());
        assertTrue(both.twin.rnnGetPreviousState().isEmpty());
    }

    @Test
    void rnnTimeStepCarriesItsStateOnAndCanHandItToDl4jsLayer() {
        int minibatch = 2;
        Both both = new Both(3, 4, Activation.TANH, Activation.SIGMOID, RNNFormat.NCW);
        for (int call = 0; call < 3; call++) {
            Map<String, INDArray> before = both.twin.rnnGetPreviousState();
            // DL4J's layer goes on from the twin's state, so that only one call's errors have to be bounded.
            both.recurrent().rnnSetPreviousState(before);
            INDArray input = gaussian(random, 1, minibatch, 3, call + 1);
            INDArray expected = both.recurrent().rnnTimeStep(input.dup(), TwinHarness.noWorkspaces());
            INDArray actual = both.twin.rnnTimeStep(TestArrays.half(input), TwinHarness.noWorkspaces());
            both.checkOutput(input, before, expected, actual);
            both.checkState(input, before, both.recurrent().rnnGetPreviousState(), both.twin.rnnGetPreviousState());
        }
        both.twin.rnnClearPreviousState();
        assertTrue(both.twin.rnnGetPreviousState().isEmpty());
    }

    @Test
    void aSequenceInOnePieceGivesWhatItsStepsGiveOneByOne() {
        Both both = new Both(3, 4, Activation.TANH, Activation.SIGMOID, RNNFormat.NCW);
        INDArray input = TestArrays.half(gaussian(random, 1, 2, 3, 5));
        INDArray whole = both.twin.activate(input, false, TwinHarness.noWorkspaces());
        for (int time = 0; time < 5; time++) {
            INDArray step = both.twin.rnnTimeStep(
                    LstmCell.step(input, time).dup().reshape(2, 3, 1), TwinHarness.noWorkspaces());
            assertEquals(
                    LstmCell.step(whole, time).dup('c'), LstmCell.step(step, 0).dup('c'));
        }
    }

    @Test
    void refusesToContinueWithAnotherMinibatch() {
        Both both = new Both(3, 4, Activation.TANH, Activation.SIGMOID, RNNFormat.NCW);
        both.twin.rnnTimeStep(TestArrays.half(gaussian(random, 1, 2, 3, 1)), TwinHarness.noWorkspaces());
        INDArray other = TestArrays.half(gaussian(random, 1, 5, 3, 1));
        IllegalStateException refused = assertThrows(
                IllegalStateException.class, () -> both.twin.rnnTimeStep(other, TwinHarness.noWorkspaces()));
        assertTrue(refused.getMessage().contains("rnnClearPreviousState"), refused.getMessage());
    }

    @Test
    void leavesPeepholesAndUnusualGatesToDl4jsLayer() {
        assertFalse(
                Nd4jSession.hasHalfTwin(new GravesLSTM.Builder().nIn(2).nOut(2).build()));
        assertFalse(Nd4jSession.hasHalfTwin(new LSTM.Builder()
                .nIn(2)
                .nOut(2)
                .gateActivationFunction(Activation.SOFTMAX)
                .build()));
    }
}
