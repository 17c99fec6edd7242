package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.InvocationType;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.listeners.Checkpoint;
import org.deeplearning4j.optimize.listeners.CheckpointListener;
import org.deeplearning4j.optimize.listeners.EvaluativeListener;
import org.deeplearning4j.optimize.listeners.PerformanceListener;
import org.dl4jamp.MixedPrecision;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.evaluation.classification.ROCMultiClass;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.LoggerFactory;

/** DL4J's listeners that save, evaluate and measure in the middle of training. */
class ListenersOfTrainingTest {
    private static final int STEPS = 6;

    @TempDir
    private Path folder;

    private static void train(Model network, TrainingListener... listeners) {
        network.setListeners(listeners);
        Kind.fit(network, Kind.iterator(), STEPS);
        network.setListeners();
    }

    private static Model load(Kind kind, CheckpointListener listener, Checkpoint checkpoint) {
        return kind == Kind.GRAPH ? listener.loadCheckpointCG(checkpoint) : listener.loadCheckpointMLN(checkpoint);
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Kind#everywhere")
    void checkpointsArePlainModelsThatTrainOnLikeTheNetwork(Kind kind, Side side) {
        Model mixed = kind.network();
        MixedPrecision amp = side.enable(mixed);
        CheckpointListener checkpoints = new CheckpointListener.Builder(folder.toFile())
                .keepAll()
                .saveEveryNIterations(2)
                .build();
        List<INDArray> afterEachStep = new ArrayList<>();
        train(mixed, checkpoints, new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                afterEachStep.add(model.params().dup());
            }
        });
        assertEquals(STEPS, amp.stepsTaken());
        List<Checkpoint> saved = checkpoints.availableCheckpoints();
        assertTrue(saved.size() >= 2, () -> saved.size() + " checkpoints");
        for (Checkpoint checkpoint : saved) {
            Model loaded = load(kind, checkpoints, checkpoint);
            assertFalse(Side.isEnabled(loaded));
            assertEquals(afterEachStep.get(checkpoint.getIteration()), loaded.params());
        }

        Model resumed = load(kind, checkpoints, saved.get(0));
        side.enable(resumed);
        for (int i = saved.get(0).getIteration() + 1; i < STEPS; i++) {
            Kind.fit(resumed, Kind.data());
        }
        assertEquals(
                0,
                mixed.params().sub(resumed.params()).norm2Number().doubleValue(),
                1e-4 * mixed.params().norm2Number().doubleValue());
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Kind#everywhere")
    void evaluationsInTheMiddleOfTrainingAreThoseOfFp32AndDisturbNothing(Kind kind, Side side) {
        Model fp32 = kind.network();
        Model mixed = kind.network();
        Model undisturbed = kind.network();
        MixedPrecision amp = side.enable(mixed);
        side.enable(undisturbed);
        for (InvocationType when : List.of(InvocationType.ITERATION_END, InvocationType.EPOCH_END)) {
            List<Double> expected = new ArrayList<>();
            List<Double> actual = new ArrayList<>();
            train(fp32, evaluating(when, expected));
            train(mixed, evaluating(when, actual));
            train(undisturbed);
            assertEquals(2 * STEPS, actual.size());
            for (int i = 0; i < expected.size(); i++) {
                assertEquals(expected.get(i), actual.get(i), 0.05, "evaluation " + i);
            }
        }
        assertEquals(2 * STEPS, amp.stepsTaken());
        assertEquals(undisturbed.params(), mixed.params());
    }

    /** Notes accuracy and area under the curve of each evaluation. */
    private static EvaluativeListener evaluating(InvocationType when, List<Double> notes) {
        EvaluativeListener listener =
                new EvaluativeListener(Kind.iterator(), 1, when, new Evaluation(), new ROCMultiClass());
        listener.setCallback((self, model, count, evaluations) -> {
            notes.add(((Evaluation) evaluations[0]).accuracy());
            notes.add(((ROCMultiClass) evaluations[1]).calculateAverageAUC());
        });
        return listener;
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.life.Kind#everywhere")
    void performanceIsReportedForEachIterationWithTheScoreOfFp32(Kind kind, Side side) {
        List<Double> expected = reportedScores(kind.network());
        Model mixed = kind.network();
        side.enable(mixed);
        List<Double> actual = reportedScores(mixed);
        assertEquals(STEPS, expected.size());
        assertEquals(expected.size(), actual.size());
        for (int i = 0; i < expected.size(); i++) {
            assertEquals(expected.get(i), actual.get(i), side.ofScore(expected.get(i)), "score " + i);
        }
    }

    private static List<Double> reportedScores(Model network) {
        Logger logger = (Logger) LoggerFactory.getLogger(PerformanceListener.class);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        logger.addAppender(lines);
        logger.setAdditive(false);
        logger.setLevel(Level.INFO);
        try {
            train(network, new PerformanceListener(1, true));
        } finally {
            logger.setLevel(null);
            logger.setAdditive(true);
            logger.detachAppender(lines);
        }
        Pattern score = Pattern.compile("samples/sec.*score: ([^;]+);");
        return lines.list.stream()
                .map(ILoggingEvent::getFormattedMessage)
                .map(score::matcher)
                .filter(Matcher::find)
                .map(found -> Double.valueOf(found.group(1)))
                .toList();
    }
}
