package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.Networks;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.gradient.PenalizedGradient;
import org.dl4jamp.gradient.PenalizedGradientTest;
import org.dl4jamp.scale.DynamicLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** What becomes of the gradients of a backward pass: with a penalty, where the loss is infinite, and in a recording. */
class BackwardResultsTest {
    private static final GradientTerms PLAIN = SmallSteps.group(1, false);
    private final DynamicLossScaler scaler =
            DynamicLossScaler.builder().initialScale(1024).build();
    private final DataSet data = SmallSteps.data(6);

    private static GradientTerms penalized(Model network) {
        return new GradientTerms(
                Optional.of(new PenalizedGradient(0.06, 0.2, network)), 0, 1, false, SmallSteps.UNCLIPPED, false);
    }

    @Test
    void aPenaltyIsAddedToFiniteGradientsOnly() {
        MultiLayerNetwork plain = SmallSteps.network(new Sgd(1));
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        INDArray before = network.params().dup();
        TrainingStep step = SmallSteps.install(network, scaler, penalized(network));
        network.addListeners(new SmallSteps.Overflow());
        network.fit(data);
        assertEquals(before, network.params());
        assertEquals(512, scaler.scale(), "an overflow of the pass that was scaled");
        network.fit(SmallSteps.spoiled(data));
        assertEquals(before, network.params());
        assertEquals(512, scaler.scale());
        network.fit(data);
        plain.fit(data);
        assertEquals(1, step.counts().taken());
        assertTrue(plain.params().distance2(network.params()) > 0.005, "the penalty is a part that is seen");
        assertTrue(plain.params().distance2(network.params()) < 0.5 * before.distance2(network.params()));
    }

    @Test
    void aPenaltyWhosePassIsNotFiniteSkipsTheStepAndIsNotTheScalesFault() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        INDArray before = network.params().dup();
        TrainingStep step = SmallSteps.install(network, scaler, penalized(network));
        DataSet bad = data.copy();
        network.addListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                // The second pass alone sees it.
                bad.getLabels().putScalar(0, Float.NaN);
            }
        });
        network.fit(bad);
        assertEquals(before, network.params());
        assertEquals(new StepCounts(0, 1, 1, 0), step.counts());
        assertEquals(1024, scaler.scale());
    }

    /** DL4J sets a graph's masks anew in each pass, and clears them when the optimizer is done. */
    @Test
    void aGraphThatIsTrainedHasItsMasksInBothPasses() {
        DataSet sequences = Networks.maskedSequences(PenalizedGradientTest.EXAMPLES, 3, 2, 9);
        DataSet ofLabels = sequences.copy();
        ofLabels.setFeaturesMaskArray(null);
        DataSet ofFeatures = sequences.copy();
        ofFeatures.setLabelsMaskArray(null);
        for (DataSet masked : List.of(sequences, ofLabels, ofFeatures)) {
            float[] expected = PenalizedGradientTest.expected(
                    () -> PenalizedGradientTest.recurrent().toComputationGraph(), masked, 5);
            ComputationGraph graph = PenalizedGradientTest.recurrent().toComputationGraph();
            float[] before = graph.params().ravel().toFloatVector();
            PenalizedGradient penalty =
                    new PenalizedGradient(PenalizedGradientTest.COEFFICIENT, PenalizedGradientTest.RADIUS, graph);
            SmallSteps.install(
                    graph, scaler, new GradientTerms(Optional.of(penalty), 0, 1, false, SmallSteps.UNCLIPPED, false));
            graph.fit(masked);
            // A learning rate of one subtracts the mean.
            float[] actual = Nd4j.createFromArray(before)
                    .subi(graph.params().ravel())
                    .muli(PenalizedGradientTest.EXAMPLES)
                    .toFloatVector();
            assertArrayEquals(expected, actual, 2e-4f);
        }
    }

    @Test
    void anInfiniteLossOfFiniteGradientsIsNotLearnedFrom() {
        for (boolean penalty : new boolean[] {false, true}) {
            MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
            INDArray before = network.params().dup();
            TrainingStep step = SmallSteps.install(network, scaler, penalty ? penalized(network) : PLAIN);
            network.addListeners(new BaseTrainingListener() {
                @Override
                public void onGradientCalculation(Model model) {
                    network.setScore(Double.POSITIVE_INFINITY);
                }
            });
            network.fit(data);
            assertEquals(before, network.params());
            assertEquals(1, step.counts().skipped());
            assertEquals(1024, scaler.scale());
        }
    }

    private static long works(List<RecordedEvent> events, String kind) {
        return events.stream()
                .filter(event -> event.getString("kind").equals(kind))
                .count();
    }

    @Test
    void aRecordingShowsTheChecksAndUpdatesOfSteps(@TempDir Path folder) throws IOException {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        MultiLayerNetwork penalized = SmallSteps.network(new Sgd(1));
        SmallSteps.install(network, scaler, PLAIN);
        SmallSteps.install(penalized, scaler, penalized(penalized));
        Path file = folder.resolve("events.jfr");
        try (Recording recording = new Recording()) {
            recording.enable(WorkEvent.NAME).withThreshold(Duration.ZERO);
            recording.start();
            network.fit(data);
            SmallSteps.byHand(network, SmallSteps.gradients(network, data), 1);
            penalized.fit(data);
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file);
        assertEquals(4, works(events, WorkEvent.CHECK), "one of each pass, and one by hand");
        assertEquals(3, works(events, WorkEvent.UPDATER));
    }
}
