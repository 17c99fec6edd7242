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
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.dl4j.SharedState;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.cell.RecurrentState;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.lossfunctions.LossFunctions;

/** States between time steps, whose arrays are used again unless a program has read them. */
class TimeStepStateTest {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();
    private static final double ERROR = 1e-5;

    private final Random random = new Random(1);
    private final Map<String, INDArray> map = SharedState.of(new HashMap<>());
    private final TimeStepState state = new TimeStepState(() -> map);

    private RecurrentState made() {
        return new RecurrentState(gaussian(random, 1, 2, 3), gaussian(random, 1, 2, 3));
    }

    @Test
    void whatATimeStepLeftIsRoomForTheOneAfterTheNext() {
        assertEquals(false, state.room().isPresent());
        RecurrentState first = made();
        state.take(first);
        assertEquals(false, state.room().isPresent(), "the next one reads it");
        RecurrentState second = made();
        state.take(second);
        assertSame(first, state.room().orElseThrow());
        assertSame(second.output(), SharedState.forTimeStep(map, "prevAct"));
        assertSame(second.memory(), SharedState.forTimeStep(map, "prevMem"));
        state.take(first);
        assertSame(second, state.room().orElseThrow());
    }

    @Test
    void whatSomebodyHasSeenIsNot() {
        state.take(made());
        state.take(made());
        map.get("prevAct");
        assertEquals(false, state.room().isPresent());
        RecurrentState next = made();
        state.take(next);
        assertEquals(false, state.room().isPresent());
        state.take(made());
        assertSame(next, state.room().orElseThrow());
    }

    @Test
    void whatHasOtherShapesIsNot() {
        state.take(made());
        state.take(new RecurrentState(gaussian(random, 1, 4, 3), gaussian(random, 1, 4, 3)));
        assertEquals(false, state.room().isPresent(), "another minibatch");
        state.take(new RecurrentState(gaussian(random, 1, 4, 3), null));
        assertEquals(false, state.room().isPresent(), "no memory cells");
    }

    @Test
    void whatSomebodyHasSetIsNot() {
        state.take(made());
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

    /** Returns what is known of the state in the map. */
    private INDArray rounded() {
        return state.withRounded(RecurrentState.in(map)).rounded();
    }

    @Test
    void roundedNumbersAreKnownUntilAProgramReadsOrSetsTheState() {
        assertEquals(null, rounded());
        RecurrentState first = madeWithRounded();
        state.take(first);
        assertSame(first.rounded(), rounded());
        state.take(made());
        assertEquals(null, rounded(), "they weren't made");

        RecurrentState read = madeWithRounded();
        state.take(read);
        map.get("prevAct");
        assertEquals(null, rounded());
        assertEquals(null, rounded(), "a program may have kept it");

        state.take(madeWithRounded());
        map.put("prevAct", gaussian(random, 1, 2, 3));
        assertEquals(null, rounded());

        state.take(madeWithRounded());
        map.clear();
        assertEquals(null, rounded());
    }

    private RecurrentState madeWithRounded() {
        RecurrentState made = made();
        return new RecurrentState(made.output(), made.memory(), made.output().castTo(DataType.BFLOAT16));
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

    /** Looks at a layer's last output without reading it as a program does. */
    @SuppressWarnings("unchecked")
    private static INDArray outputIn(RecurrentLayer layer) throws ReflectiveOperationException {
        Field states = org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer.class.getDeclaredField("stateMap");
        states.setAccessible(true);
        return SharedState.forTimeStep((Map<String, INDArray>) states.get(layer), "prevAct");
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
            List<INDArray> outputs = new ArrayList<>();
            for (int t = 0; t < 20; t++) {
                INDArray input = gaussian(random, 1, 5, 9, 1);
                Agreement.assertWithin(
                        "output " + t, dl4j.rnnTimeStep(input, NONE), twin.rnnTimeStep(input, NONE), ERROR);
                outputs.add(outputIn(twin));
                // A program reads what every fifth time step leaves. The next two have new arrays, and so has the one
                // whose place it would be.
                if (t >= 2) {
                    boolean again = t % 5 >= 3 || t % 5 == 0;
                    assertEquals(again, outputs.get(t) == outputs.get(t - 2), "time step " + t);
                    assertNotSame(outputs.get(t - 1), outputs.get(t), "time step " + t);
                }
                if (t % 5 == 0) {
                    saved.add(twin.rnnGetPreviousState());
                    expected.add(dl4j.rnnGetPreviousState());
                }
            }
            for (int i = 0; i < saved.size(); i++) {
                for (Map.Entry<String, INDArray> one : expected.get(i).entrySet()) {
                    Agreement.assertWithin(
                            one.getKey(), one.getValue(), saved.get(i).get(one.getKey()), ERROR);
                }
            }
        }
    }

    /** Returns a network, whose own recurrent layer is the first. */
    private static MultiLayerNetwork network(String kind) {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(1)
                .list()
                .layer(layer(kind))
                .layer(new RnnOutputLayer.Builder(LossFunctions.LossFunction.MSE)
                        .activation(Activation.IDENTITY)
                        .nOut(2)
                        .build())
                .setInputType(InputType.recurrent(9))
                .build());
        network.init();
        return network;
    }

    private static void begin(MultiLayerNetwork network, String mode) {
        AmpConfig config =
                AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();
        if (mode.equals("inference")) {
            MixedPrecision.inference(network, config);
        } else {
            MixedPrecision.enable(network, config);
        }
    }

    private void takeSteps(MultiLayerNetwork network, int steps) {
        for (int t = 0; t < steps; t++) {
            network.rnnTimeStep(gaussian(random, 1, 5, 9));
        }
    }

    /** A program may have kept the layer since before, or have asked for the network's own. */
    @ParameterizedTest
    @CsvSource({"lstm, inference", "lstm, training", "simple, inference", "simple, training"})
    void statesThatAProgramHasReadInTheNetworksOwnLayerStayAsTheyAre(String kind, String mode) {
        MultiLayerNetwork network = network(kind);
        RecurrentLayer own = (RecurrentLayer) network.getLayer(0);
        begin(network, mode);
        takeSteps(network, 3);
        Map<String, INDArray> seen = own.rnnGetPreviousState();
        Map<String, INDArray> expected = new HashMap<>();
        seen.forEach((name, array) -> expected.put(name, array.dup()));
        takeSteps(network, 3);
        assertEquals(expected, seen);
        assertNotSame(seen.get("prevAct"), own.rnnGetPreviousState().get("prevAct"));
    }

    @ParameterizedTest
    @CsvSource({"lstm, inference", "lstm, training", "simple, inference", "simple, training"})
    void statesOfNetworksThatNobodyReadsAreUsedAgain(String kind, String mode) throws ReflectiveOperationException {
        MultiLayerNetwork network = network(kind);
        RecurrentLayer own = (RecurrentLayer) network.getLayer(0);
        begin(network, mode);
        takeSteps(network, 3);
        INDArray before = outputIn(own);
        takeSteps(network, 1);
        assertNotSame(before, outputIn(own));
        takeSteps(network, 1);
        assertSame(before, outputIn(own));
    }
}
