package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** Enabling and closing while the network is at work. */
class ClosingTest {
    private final DataSet data = Networks.vectors(16, 20, 3);
    private final DataSet images = Networks.images(8, 3, 8, 3);

    /** The moment at which DL4J calls a listener. */
    private enum Moment {
        FORWARD_PASS,
        BACKWARD_PASS,
        GRADIENT_CALCULATION,
        ITERATION_DONE
    }

    /** Does something once, at a moment of the third step, and keeps what it threw. */
    private static final class Once extends BaseTrainingListener {
        private final Moment moment;
        private final Consumer<Model> what;
        private final List<RuntimeException> thrown = new ArrayList<>();
        private int calls;

        Once(Moment moment, Consumer<Model> what) {
            this.moment = moment;
            this.what = what;
        }

        private void called(Moment now, Model model) {
            if (now == moment && ++calls == 3) {
                try {
                    what.accept(model);
                } catch (AmpException e) {
                    thrown.add(e);
                }
            }
        }

        @Override
        public void onForwardPass(Model model, List<INDArray> activations) {
            called(Moment.FORWARD_PASS, model);
        }

        @Override
        public void onForwardPass(Model model, Map<String, INDArray> activations) {
            called(Moment.FORWARD_PASS, model);
        }

        @Override
        public void onBackwardPass(Model model) {
            called(Moment.BACKWARD_PASS, model);
        }

        @Override
        public void onGradientCalculation(Model model) {
            called(Moment.GRADIENT_CALCULATION, model);
        }

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            called(Moment.ITERATION_DONE, model);
        }
    }

    private static void train(Model network, DataSet batch) {
        for (int i = 0; i < 5; i++) {
            Networks.fit(network, batch);
        }
    }

    private static void close(Model model) {
        MixedPrecision.of(model).orElseThrow().close();
    }

    @ParameterizedTest
    @CsvSource({
        "FORWARD_PASS, false",
        "FORWARD_PASS, true",
        "BACKWARD_PASS, false",
        "BACKWARD_PASS, true",
        "GRADIENT_CALCULATION, false",
        "GRADIENT_CALCULATION, true"
    })
    void closingInTheMiddleOfAStepIsRefusedAndTheFitUnharmed(Moment moment, boolean graph) {
        Model undisturbed = graph ? Networks.init(Networks.residual()) : Networks.init(Networks.mlp());
        Model network = Networks.copy(undisturbed);
        MixedPrecision.enable(undisturbed, Gradients.config(Precision.HALF));
        MixedPrecision amp = MixedPrecision.enable(network, Gradients.config(Precision.HALF));
        Once listener = new Once(moment, ClosingTest::close);
        network.setListeners(listener);
        train(undisturbed, graph ? images : data);
        train(network, graph ? images : data);
        assertEquals(1, listener.thrown.size());
        assertTrue(listener.thrown.get(0).getMessage().contains("MixedPrecision.close"), listener.thrown::toString);
        assertFalse(amp.isClosed());
        assertEquals(5, amp.stepsTaken());
        LossScalingTest.assertBitIdentical(undisturbed.params(), network.params());
    }

    @ParameterizedTest
    @EnumSource(
            value = Moment.class,
            names = {"FORWARD_PASS", "BACKWARD_PASS", "GRADIENT_CALCULATION"})
    void enablingInTheMiddleOfAStepIsRefusedAndTheFitUnharmed(Moment moment) {
        MultiLayerNetwork undisturbed = Networks.init(Networks.mlp());
        MultiLayerNetwork network = undisturbed.clone();
        Once listener = new Once(
                moment, model -> MixedPrecision.enable((MultiLayerNetwork) model, Gradients.config(Precision.HALF)));
        network.setListeners(listener);
        train(undisturbed, data);
        train(network, data);
        assertTrue(listener.thrown.get(0).getMessage().contains("MixedPrecision.enable"), listener.thrown::toString);
        assertTrue(MixedPrecision.of(network).isEmpty());
        LossScalingTest.assertBitIdentical(undisturbed.params(), network.params());
    }

    @Test
    void betweenStepsAListenerMayEnableAndClose() {
        MultiLayerNetwork plain = Networks.init(Networks.mlp());
        MultiLayerNetwork network = plain.clone();
        MixedPrecision amp = MixedPrecision.enable(
                network,
                AmpConfig.builder().engine("nd4j").optLevel(OptLevel.O0).build());
        Once closes = new Once(Moment.ITERATION_DONE, ClosingTest::close);
        network.setListeners(closes);
        train(plain, data);
        train(network, data);
        assertTrue(amp.isClosed());
        assertEquals(List.of(), closes.thrown);
        LossScalingTest.assertBitIdentical(plain.params(), network.params());
    }

    @Test
    void anotherNetworkMayBeClosedInTheMiddleOfAStep() {
        MultiLayerNetwork teacher = Networks.init(Networks.mlp());
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        MixedPrecision ofTeacher = MixedPrecision.enable(teacher, Gradients.config(Precision.HALF));
        network.setListeners(new Once(Moment.FORWARD_PASS, model -> ofTeacher.close()));
        train(network, data);
        assertTrue(ofTeacher.isClosed());
    }

    @Test
    void aLayerThatWasKeptSaysThatItIsClosed() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        Layer kept;
        try (MixedPrecision amp = MixedPrecision.enable(network, Gradients.config(Precision.HALF))) {
            network.fit(data);
            kept = network.getLayer(0);
            assertFalse(amp.isClosed());
        }
        INDArray features = data.getFeatures();
        String message = assertThrows(
                        AmpException.class, () -> kept.activate(features, false, LayerWorkspaceMgr.noWorkspaces()))
                .getMessage();
        assertTrue(message.contains("closed"), message);
        assertEquals(20 * 32 + 32, kept.numParams());
    }

    /** DL4J's networks hold their monitor while they train or compute their output. */
    @Test
    void enableAndCloseWaitForOtherThreads() throws InterruptedException {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        Thread enabling = new Thread(() -> MixedPrecision.enable(network, Gradients.config(Precision.HALF)));
        synchronized (network) {
            startAndWaitUntilBlocked(enabling);
            assertTrue(MixedPrecision.of(network).isEmpty());
        }
        enabling.join();
        MixedPrecision amp = MixedPrecision.of(network).orElseThrow();
        Thread closing = new Thread(amp::close);
        synchronized (network) {
            startAndWaitUntilBlocked(closing);
            assertFalse(amp.isClosed());
        }
        closing.join();
        assertTrue(amp.isClosed());
    }

    private static void startAndWaitUntilBlocked(Thread thread) throws InterruptedException {
        thread.start();
        while (thread.getState() != Thread.State.BLOCKED && thread.isAlive()) {
            Thread.sleep(1);
        }
    }
}
