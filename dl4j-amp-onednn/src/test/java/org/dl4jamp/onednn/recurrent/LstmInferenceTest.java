package org.dl4jamp.onednn.recurrent;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.interval;

import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.api.layers.RecurrentLayer;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Passes;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.cell.LstmInference;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** An LSTM that copies its weights once. */
class LstmInferenceTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();
    private static final double FLOAT_ERROR = 1e-5;
    private static final String WHOLE = "LSTM in inference";

    private static INDArray params(Random random, BaseRecurrentLayer conf) {
        return gaussian(random, 0.3, conf.initializer().numParams(conf));
    }

    private static Cell cell(boolean peepholes) {
        return peepholes ? Cell.GRAVES_LSTM : Cell.LSTM;
    }

    private static EngineSession session() {
        return new OneDnnEngine().inference(1);
    }

    private static INDArray step(INDArray sequences, long t) {
        return sequences.get(all(), all(), interval(t, t + 1)).dup();
    }

    @Property(tries = 40)
    void inFp32ItGivesDl4jsNumbers(
            @ForAll long seed,
            @ForAll boolean peepholes,
            @ForAll boolean nwc,
            @ForAll @IntRange(min = 1, max = 70) int nIn,
            @ForAll @IntRange(min = 1, max = 70) int units,
            @ForAll @IntRange(min = 1, max = 20) int minibatch,
            @ForAll @IntRange(min = 1, max = 7) int steps) {
        Random random = new Random(seed);
        BaseRecurrentLayer conf = cell(peepholes).layer(nIn, units, nwc ? RNNFormat.NWC : RNNFormat.NCW);
        INDArray params = params(random, conf);
        INDArray input = nwc ? gaussian(random, 1, minibatch, steps, nIn) : gaussian(random, 1, minibatch, nIn, steps);
        INDArray expected = SingleLayer.dl4j(conf, params).activate(input, false, NONE);
        try (EngineSession session = session()) {
            TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
            for (int i = 0; i < 2; i++) {
                Agreement.assertWithin("output", expected, twin.activate(input, false, NONE), FLOAT_ERROR);
            }
        }
    }

    @Property(tries = 40)
    void inBfloat16ItRoundsWhatEntersProductsAndNothingElse(
            @ForAll long seed,
            @ForAll boolean peepholes,
            @ForAll @IntRange(min = 1, max = 70) int nIn,
            @ForAll @IntRange(min = 1, max = 70) int units,
            @ForAll @IntRange(min = 1, max = 20) int minibatch,
            @ForAll @IntRange(min = 1, max = 7) int steps) {
        DataType type = Types.half();
        Random random = new Random(seed);
        BaseRecurrentLayer conf = cell(peepholes).layer(nIn, units, RNNFormat.NCW);
        INDArray params = params(random, conf);
        INDArray input = gaussian(random, 1, minibatch, nIn, steps);
        INDArray expected = new RecurrentReference(
                        type, cell(peepholes), RecurrentReference.Function.TANH, params, nIn, units)
                .run(input, gaussian(random, 1, minibatch, units, steps), null)
                .output();
        try (EngineSession session = session()) {
            TwinLayer twin = Layers.twin(session, conf, params, type);
            INDArray actual = twin.activate(input.castTo(type), false, NONE);
            // Sums in another order round an output to its other neighbour at times, and what comes after it with it.
            Agreement.assertWithin("output", expected, actual, Agreement.rounding(type) / 2 + FLOAT_ERROR);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Cell.class,
            names = {"LSTM", "GRAVES_LSTM"})
    void timeStepsCarryTheStateAsDl4jDoes(Cell cell) {
        Random random = new Random(3);
        BaseRecurrentLayer conf = cell.layer(9, 21, RNNFormat.NCW);
        INDArray params = params(random, conf);
        INDArray input = gaussian(random, 1, 5, 9, 8);
        for (DataType type : Types.here()) {
            RecurrentLayer dl4j = (RecurrentLayer) SingleLayer.dl4j(conf, params);
            double bound = 2 * Agreement.rounding(type) + FLOAT_ERROR;
            try (EngineSession session = session()) {
                RecurrentLayer twin = (RecurrentLayer)
                        Layers.twin(session, conf, params, type).twin().compute();
                for (int t = 0; t < 8; t++) {
                    if (t == 4) {
                        // As a program may set it, in another order in memory.
                        Map<String, INDArray> state = Map.of(
                                "prevAct", gaussian(random, 1, 21, 5).transpose(),
                                "prevMem", gaussian(random, 1, 21, 5).transpose());
                        dl4j.rnnSetPreviousState(state);
                        twin.rnnSetPreviousState(state);
                    }
                    if (t == 6) {
                        dl4j.rnnClearPreviousState();
                        twin.rnnClearPreviousState();
                    }
                    INDArray expected = dl4j.rnnTimeStep(step(input, t), NONE);
                    INDArray actual = twin.rnnTimeStep(step(input, t).castTo(type), NONE);
                    Agreement.assertWithin("step " + t, expected, actual, bound);
                    dl4j.rnnGetPreviousState().forEach((name, array) -> {
                        INDArray own = twin.rnnGetPreviousState().get(name);
                        assertEquals(DataType.FLOAT, own.dataType());
                        Agreement.assertWithin(name, array, own, bound);
                    });
                }
            }
        }
    }

    /** Where nobody reads the state, the next step begins with what the last one has rounded. */
    @ParameterizedTest
    @EnumSource(
            value = Cell.class,
            names = {"LSTM", "GRAVES_LSTM"})
    void whetherAProgramReadsTheStateChangesNoNumber(Cell cell) {
        BaseRecurrentLayer conf = cell.layer(9, 21, RNNFormat.NCW);
        INDArray params = params(new Random(5), conf);
        for (DataType type : Types.here()) {
            RecurrentLayer dl4j = (RecurrentLayer) SingleLayer.dl4j(conf, params);
            double bound = 2 * Agreement.rounding(type) + FLOAT_ERROR;
            try (EngineSession session = session();
                    EngineSession other = session()) {
                RecurrentLayer reading = (RecurrentLayer)
                        Layers.twin(session, conf, params, type).twin().compute();
                RecurrentLayer twin = (RecurrentLayer)
                        Layers.twin(other, conf, params, type).twin().compute();
                for (int t = 0; t < 16; t++) {
                    INDArray input = gaussian(new Random(t), 1, 5, 9, t % 6 == 5 ? 3 : 1);
                    for (RecurrentLayer one : List.of(dl4j, reading, twin)) {
                        change(one, t);
                    }
                    INDArray expected = reading.rnnTimeStep(input.castTo(type), NONE);
                    INDArray actual = twin.rnnTimeStep(input.castTo(type), NONE);
                    assertEquals(expected, actual, type + ", step " + t);
                    Agreement.assertWithin("step " + t, dl4j.rnnTimeStep(input, NONE), actual, bound);
                    assertEquals(2, reading.rnnGetPreviousState().size());
                }
                assertEquals(reading.rnnGetPreviousState(), twin.rnnGetPreviousState());
            }
        }
    }

    /** Does what a program may do to a layer between two time steps. */
    private static void change(RecurrentLayer layer, int step) {
        switch (step) {
            case 3 -> layer.rnnGetPreviousState().get("prevAct").muli(-1);
            case 7 ->
                layer.rnnSetPreviousState(Map.of(
                        "prevAct", gaussian(new Random(6), 1, 5, 21), "prevMem", gaussian(new Random(7), 1, 5, 21)));
            case 9 -> layer.setMaskArray(Nd4j.createFromArray(new float[][] {{1}, {0}, {1}, {1}, {0}}));
            case 10 -> layer.setMaskArray(null);
            case 13 -> layer.rnnClearPreviousState();
            default -> {}
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Cell.class,
            names = {"LSTM", "GRAVES_LSTM"})
    void aMaskIsAppliedStepByStepAsByDl4j(Cell cell) {
        Random random = new Random(4);
        BaseRecurrentLayer conf = cell.layer(6, 10, RNNFormat.NCW);
        INDArray params = params(random, conf);
        INDArray input = gaussian(random, 1, 3, 6, 4);
        INDArray mask = Nd4j.createFromArray(new float[][] {{1, 1, 1, 1}, {1, 1, 0, 0}, {1, 0, 0, 0}});
        org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(conf, params);
        dl4j.setMaskArray(mask);
        INDArray expected = dl4j.activate(input, false, NONE);
        dl4j.setMaskArray(null);
        INDArray unmasked = dl4j.activate(input, false, NONE);
        try (EngineSession session = session()) {
            TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
            for (int i = 0; i < 2; i++) {
                twin.setMaskArray(mask);
                Agreement.assertWithin("masked", expected, twin.activate(input, false, NONE), FLOAT_ERROR);
                twin.setMaskArray(null);
                Agreement.assertWithin("unmasked", unmasked, twin.activate(input, false, NONE), FLOAT_ERROR);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Cell.class,
            names = {"LSTM", "GRAVES_LSTM"})
    void allTimeStepsAreOnePassWhereverOneDnnHasOne(Cell cell) {
        Random random = new Random(5);
        BaseRecurrentLayer conf = cell.layer(6, 10, RNNFormat.NCW);
        INDArray params = params(random, conf);
        for (DataType type : Types.here()) {
            boolean whole = LstmInference.isThereFor(type);
            INDArray input = gaussian(random, 1, 3, 6, 4).castTo(type);
            try (EngineSession session = session()) {
                TwinLayer twin = Layers.twin(session, conf, params, type);
                twin.activate(input, false, NONE);
                List<String> passes = Passes.of(() -> twin.activate(input, false, NONE));
                assertEquals(whole, passes.size() == 1 && passes.get(0).contains(WHOLE), passes::toString);
            }
        }
    }

    /** The orders of primitives depend on minibatch and instruction set. */
    @Test
    void allShapesShareOneCopyOfTheWeightsForEachOrder() {
        Random random = new Random(6);
        BaseRecurrentLayer conf = Cell.LSTM.layer(256, 256, RNNFormat.NCW);
        INDArray params = params(random, conf);
        for (DataType type : Types.here()) {
            long before = AlignedMemory.held();
            try (EngineSession session = session()) {
                TwinLayer twin = Layers.twin(session, conf, params, type);
                twin.activate(gaussian(random, 1, 16, 256, 16).castTo(type), false, NONE);
                long one = AlignedMemory.held() - before;
                for (int minibatch = 1; minibatch <= 16; minibatch++) {
                    for (int steps : new int[] {1, 2, 16}) {
                        twin.activate(gaussian(random, 1, minibatch, 256, steps).castTo(type), false, NONE);
                    }
                }
                long many = AlignedMemory.held() - before;
                long copy = params.length() * type.width();
                assertTrue(many <= 1.1 * one + 1.1 * copy, () -> many + " bytes for 48 shapes, " + one + " for one");
            }
            assertEquals(before, AlignedMemory.held(), "all is given back");
        }
    }

    @Test
    void aBadShapeIsAnsweredAsByDl4j() {
        BaseRecurrentLayer conf = Cell.LSTM.layer(5, 3, RNNFormat.NCW);
        INDArray params = params(new Random(1), conf);
        try (EngineSession session = session()) {
            TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
            INDArray input = gaussian(new Random(2), 1, 2, 4, 3);
            String expected = assertThrows(DL4JInvalidInputException.class, () -> SingleLayer.dl4j(conf, params)
                            .activate(input, false, NONE))
                    .getMessage();
            assertEquals(
                    expected,
                    assertThrows(DL4JInvalidInputException.class, () -> twin.activate(input, false, NONE))
                            .getMessage());
        }
    }
}
