package org.dl4jamp.onednn.cell;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Networks;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** The parts of an LSTM against all examples in one primitive, which other tests compare with stock DL4J. */
class LstmPartsTest {
    private static final int UNITS = 24;
    private static final int SIZE = 5;
    private static final int STEPS = 7;

    /** Arrays drawn, each with a seed of its own. */
    private int drawn;

    private final OneDnnContext context = new OneDnnContext(true);
    private final LstmInference.Weights weights = LstmInference.Weights.make(false);
    private final RecurrentParameters parameters =
            new RecurrentParameters(columns(SIZE), columns(UNITS), random(1, LstmCell.GATES * UNITS));

    private INDArray random(long... shape) {
        return Networks.uniform(++drawn, shape).subi(0.5);
    }

    private INDArray columns(long rows) {
        return random(LstmCell.GATES * UNITS, rows).transpose();
    }

    @AfterEach
    void close() {
        weights.input().close();
        weights.recurrent().close();
        weights.bias().close();
        context.close();
    }

    /** The results of a pass. */
    private record Results(INDArray outputs, RecurrentState last) {}

    private Results run(int parts, DataType type, INDArray x, RecurrentState before) {
        SequenceShape shape = new SequenceShape(x.size(1), STEPS, SIZE, UNITS, LstmCell.GATES);
        INDArray outputs = new SequenceMemory(LayerWorkspaceMgr.noWorkspaces(), ArrayType.ACTIVATIONS)
                .create(type, STEPS, x.size(1), UNITS);
        RecurrentState[] last = new RecurrentState[1];
        try (LstmParts lstm = new LstmParts(context, "layer", type, shape, weights, parts)) {
            lstm.run(x, parameters, before, outputs, state -> last[0] = state);
        }
        return new Results(outputs, last[0]);
    }

    @ParameterizedTest
    @CsvSource({
        "FLOAT, 8, 2, true",
        "FLOAT, 5, 2, true",
        "FLOAT, 7, 3, false",
        "FLOAT, 2, 2, true",
        "BFLOAT16, 9, 2, true",
        "BFLOAT16, 8, 4, false"
    })
    void partsGiveWhatOnePrimitiveGives(DataType type, int minibatch, int parts, boolean hasState) {
        assumeTrue(LstmInference.isThereFor(type));
        INDArray x = random(STEPS, minibatch, SIZE).castTo(type);
        RecurrentState before =
                hasState ? new RecurrentState(random(minibatch, UNITS), random(minibatch, UNITS)) : RecurrentState.ZERO;
        double tolerance = type == DataType.FLOAT ? 1e-6 : 0.01;

        Results whole = run(1, type, x, before);
        Results shared = run(parts, type, x, before);

        assertTrue(whole.outputs().amaxNumber().doubleValue() > 0.05);
        assertNear(whole.outputs(), shared.outputs(), tolerance);
        assertNear(whole.last().output(), shared.last().output(), tolerance);
        assertNear(whole.last().memory(), shared.last().memory(), tolerance);
    }

    private static void assertNear(INDArray expected, INDArray actual, double tolerance) {
        INDArray difference = expected.castTo(DataType.DOUBLE).sub(actual.castTo(DataType.DOUBLE));
        assertEquals(0, difference.amaxNumber().doubleValue(), tolerance);
    }

    @Test
    void partsTakeChangedWeights() {
        assumeTrue(LstmInference.isThereFor(DataType.FLOAT));
        INDArray x = random(STEPS, 4, SIZE);
        run(2, DataType.FLOAT, x, RecurrentState.ZERO);
        parameters.recurrentWeights().muli(2);
        parameters.inputWeights().muli(2);
        weights.input().refresh();
        weights.recurrent().refresh();

        Results shared = run(2, DataType.FLOAT, x, RecurrentState.ZERO);

        try (OneDnnContext other = new OneDnnContext(true)) {
            LstmInference.Weights fresh = LstmInference.Weights.make(false);
            INDArray outputs = Nd4j.create(DataType.FLOAT, STEPS, 4, UNITS);
            SequenceShape shape = new SequenceShape(4, STEPS, SIZE, UNITS, LstmCell.GATES);
            try (LstmParts lstm = new LstmParts(other, "layer", DataType.FLOAT, shape, fresh, 1)) {
                lstm.run(x, parameters, RecurrentState.ZERO, outputs, null);
            }
            assertNear(outputs, shared.outputs(), 1e-6);
            fresh.input().close();
            fresh.recurrent().close();
            fresh.bias().close();
        }
    }

    @Test
    void anArrayThatIsTooSmallForTheLastPartIsRefused() {
        assumeTrue(LstmInference.isThereFor(DataType.FLOAT));
        SequenceShape shape = new SequenceShape(4, STEPS, SIZE, UNITS, LstmCell.GATES);
        INDArray x = random(STEPS, 4, SIZE);
        INDArray outputs = Nd4j.create(DataType.FLOAT, STEPS, 4, UNITS - 1);
        try (LstmParts lstm = new LstmParts(context, "layer", DataType.FLOAT, shape, weights, 2)) {
            AmpException thrown =
                    assertThrows(AmpException.class, () -> lstm.run(x, parameters, RecurrentState.ZERO, outputs, null));
            assertTrue(thrown.getMessage().contains("bytes"), thrown.getMessage());
        }
    }

    @Test
    void examplesAreSharedWhereEachThreadHasEnoughToDo() {
        assertTrue(LstmParts.pays(shape(32, 64), 2));
        assertTrue(LstmParts.pays(shape(33, 64), 2));
        assertTrue(LstmParts.pays(shape(64, 64), 8));
        assertFalse(LstmParts.pays(shape(32, 64), 1));
        assertFalse(LstmParts.pays(shape(8, 64), 2));
        assertFalse(LstmParts.pays(shape(1, 64), 2));
        assertFalse(LstmParts.pays(shape(17, 64), 2));
        assertFalse(LstmParts.pays(shape(32, 64), 8));
        assertFalse(LstmParts.pays(shape(32, 1), 2));
    }

    private static SequenceShape shape(long minibatch, long steps) {
        return new SequenceShape(minibatch, steps, 512, 512, LstmCell.GATES);
    }

    @Test
    void partsHaveAllExamplesBetweenThem() {
        SequenceShape shape = shape(7, 3);

        assertEquals(new InferringLstm.Examples(shape, 0, 2), InferringLstm.Examples.part(shape, 0, 3));
        assertEquals(new InferringLstm.Examples(shape, 2, 2), InferringLstm.Examples.part(shape, 1, 3));
        assertEquals(new InferringLstm.Examples(shape, 4, 3), InferringLstm.Examples.part(shape, 2, 3));
    }
}
