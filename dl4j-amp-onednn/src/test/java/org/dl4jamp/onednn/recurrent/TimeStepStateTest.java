package org.dl4jamp.onednn.recurrent;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.deeplearning4j.nn.api.layers.RecurrentLayer;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.cell.RecurrentState;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** States between time steps, whose arrays are used again unless a program has read them. */
class TimeStepStateTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();
    private static final double ERROR = 1e-5;

    private final Random random = new Random(1);
    private final Map<String, INDArray> map = new HashMap<>();
    private final TimeStepState state = new TimeStepState(() -> map);

    private RecurrentState made() {
        return new RecurrentState(gaussian(random, 1, 2, 3), gaussian(random, 1, 2, 3));
    }

    @Test
    void whatATimeStepLeftIsRoomForTheNext() {
        assertEquals(false, state.room().isPresent());
        RecurrentState left = made();
        state.take(left);
        assertSame(left, state.room().orElseThrow());
        assertSame(left.output(), map.get("prevAct"));
        assertSame(left.memory(), map.get("prevMem"));
    }

    @Test
    void whatSomebodyHasSeenIsNot() {
        state.take(made());
        state.seen();
        assertEquals(false, state.room().isPresent());
        RecurrentState next = made();
        state.take(next);
        assertSame(next, state.room().orElseThrow());
    }

    @Test
    void whatSomebodyHasSetIsNot() {
        state.take(made());
        made().putInto(map);
        assertEquals(false, state.room().isPresent());
        state.take(made());
        map.put("prevMem", gaussian(random, 1, 2, 3));
        assertEquals(false, state.room().isPresent());
        state.take(made());
        map.clear();
        assertEquals(false, state.room().isPresent());
    }

    private static BaseRecurrentLayer layer(String kind) {
        return kind.equals("lstm")
                ? new LSTM.Builder().nIn(9).nOut(21).activation(Activation.TANH).build()
                : new SimpleRnn.Builder()
                        .nIn(9)
                        .nOut(21)
                        .activation(Activation.TANH)
                        .build();
    }

    private static EngineSession session(String mode) {
        return mode.equals("inference") ? new OneDnnEngine().inference(1) : new OneDnnEngine().session(1, true);
    }

    private static INDArray outputIn(RecurrentLayer layer) throws ReflectiveOperationException {
        Field states = org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer.class.getDeclaredField("stateMap");
        states.setAccessible(true);
        return (INDArray) ((Map<?, ?>) states.get(layer)).get("prevAct");
    }

    @ParameterizedTest
    @CsvSource({"lstm, inference", "lstm, training", "simple, inference", "simple, training"})
    void statesThatAProgramHasAskedForStayAsTheyAre(String kind, String mode) throws ReflectiveOperationException {
        BaseRecurrentLayer conf = layer(kind);
        INDArray params = gaussian(random, 0.3, conf.initializer().numParams(conf));
        RecurrentLayer dl4j = (RecurrentLayer) SingleLayer.dl4j(conf, params);
        try (EngineSession session = session(mode)) {
            RecurrentLayer twin = (RecurrentLayer)
                    Layers.twin(session, conf, params, DataType.FLOAT).twin().compute();
            List<Map<String, INDArray>> saved = new ArrayList<>();
            List<Map<String, INDArray>> expected = new ArrayList<>();
            INDArray last = null;
            for (int t = 0; t < 9; t++) {
                INDArray input = gaussian(random, 1, 5, 9, 1);
                Agreement.assertWithin(
                        "output " + t, dl4j.rnnTimeStep(input, NONE), twin.rnnTimeStep(input, NONE), ERROR);
                INDArray now = outputIn(twin);
                if (t % 3 == 1) {
                    assertNotSame(last, now, "of a program since time step " + (t - 1));
                } else if (t > 0) {
                    assertSame(last, now, "time step " + t);
                }
                if (t % 3 == 0) {
                    saved.add(twin.rnnGetPreviousState());
                    expected.add(dl4j.rnnGetPreviousState());
                }
                last = now;
            }
            for (int i = 0; i < saved.size(); i++) {
                for (Map.Entry<String, INDArray> one : expected.get(i).entrySet()) {
                    Agreement.assertWithin(
                            one.getKey(), one.getValue(), saved.get(i).get(one.getKey()), ERROR);
                }
            }
        }
    }
}
