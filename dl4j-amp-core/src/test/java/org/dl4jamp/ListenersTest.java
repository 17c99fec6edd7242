package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.listeners.CollectScoresListener;
import org.deeplearning4j.optimize.listeners.PerformanceListener;
import org.deeplearning4j.optimize.listeners.ScoreIterationListener;
import org.deeplearning4j.optimize.listeners.TimeIterationListener;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** DL4J's listeners, unchanged, see in mixed precision what they see in FP32. */
class ListenersTest {
    private final DataSet data = Networks.images(16, 3, 12, 3);
    private final MultiLayerNetwork fp32 = Networks.init(Networks.cnn());
    private final MultiLayerNetwork mixed = fp32.clone();

    /** Notes the order of calls, and the gradients at each. */
    private static final class Notes extends BaseTrainingListener {
        private final List<String> calls = new ArrayList<>();
        private final List<Map<String, INDArray>> gradients = new ArrayList<>();

        @Override
        public void onForwardPass(Model model, List<INDArray> activations) {
            calls.add("forward of " + activations.size());
        }

        @Override
        public void onGradientCalculation(Model model) {
            calls.add("gradients");
            gradients.add(Gradients.copy(model));
        }

        @Override
        public void onBackwardPass(Model model) {
            calls.add("backward");
            gradients.add(Gradients.copy(model));
        }

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            calls.add("done " + iteration);
        }
    }

    @Test
    void listenersAreCalledInTheSameOrderAndSeeTrueGradients() {
        Notes expected = new Notes();
        Notes actual = new Notes();
        fp32.setListeners(expected);
        mixed.setListeners(actual);
        MixedPrecision.enable(mixed, Gradients.config(Precision.HALF));
        fp32.fit(data);
        mixed.fit(data);
        assertEquals(expected.calls, actual.calls);
        assertEquals(2, expected.gradients.size());
        for (int i = 0; i < expected.gradients.size(); i++) {
            Comparison.assertGradients(expected.gradients.get(i), actual.gradients.get(i), Comparison.Tolerance.HALF);
        }
    }

    @Test
    void dl4jsOwnListenersGoOnWorking() {
        CollectScoresListener expected = new CollectScoresListener(1);
        CollectScoresListener actual = new CollectScoresListener(1);
        fp32.setListeners(expected);
        MixedPrecision.enable(mixed, Gradients.config(Precision.HALF));
        mixed.setListeners(
                actual, new ScoreIterationListener(1), new PerformanceListener(1, true), new TimeIterationListener(10));
        for (int i = 0; i < 5; i++) {
            fp32.fit(data);
            mixed.fit(data);
        }
        assertEquals(5, actual.getListScore().size());
        for (int i = 0; i < 5; i++) {
            double score = expected.getListScore().getDouble(i);
            assertEquals(score, actual.getListScore().getDouble(i), 0.02 * score, "score " + i);
        }
        assertEquals(4, mixed.getListeners().size());
    }

    @Test
    void listenersThatWereSetBeforeAreKeptAndThoseAddedMeanwhileStay() {
        CollectScoresListener before = new CollectScoresListener(1);
        CollectScoresListener meanwhile = new CollectScoresListener(1);
        mixed.setListeners(before);
        try (MixedPrecision amp = MixedPrecision.enable(mixed, Gradients.config(Precision.HALF))) {
            mixed.fit(data);
            mixed.addListeners(meanwhile);
            mixed.fit(data);
            assertEquals(2, amp.stepsTaken());
        }
        mixed.fit(data);
        assertEquals(3, before.getListScore().size());
        assertEquals(2, meanwhile.getListScore().size());
        assertTrue(mixed.getListeners().containsAll(List.of(before, meanwhile)));
    }
}
