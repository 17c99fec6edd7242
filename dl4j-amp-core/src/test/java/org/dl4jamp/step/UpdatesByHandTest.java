package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.gradient.GradientGroup.EffectiveBatch;
import org.dl4jamp.gradient.GradientParts;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.NoLossScaler;
import org.dl4jamp.scale.Skip;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** Gradients of calls of an updater that aren't DL4J's optimizer's. */
class UpdatesByHandTest {
    private final MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
    private Logger log;
    private final StepKernels kernels = StepKernels.nd4j();

    private SkippedSteps updates() {
        return new SkippedSteps(log, new ScaleUpdates(new NoLossScaler(), Optional.empty()), 3);
    }

    @BeforeEach
    void listen() {
        LoggerContext context = new LoggerContext();
        lines.setContext(context);
        lines.start();
        log = context.getLogger("steps");
        log.addAppender(lines);
        network.initGradientsView();
    }

    private static GradientParts.Parted gradients(INDArray sums, INDArray update) {
        return new GradientParts.Parted(null, Nd4j.concat(0, sums, update), List.of(sums), List.of(), List.of(update));
    }

    private static INDArray numbers(float... numbers) {
        return Nd4j.createFromArray(numbers);
    }

    private static UpdaterCall call(int iteration) {
        return new UpdaterCall(new DefaultGradient(), iteration, 0, 4, LayerWorkspaceMgr.noWorkspaces());
    }

    private EffectiveBatch check(boolean needNorm, GradientParts.Parted gradients) {
        ScaleUpdates scale = new ScaleUpdates(new NoLossScaler(), Optional.empty());
        BackwardResults results = SmallSteps.results(network, scale);
        return results.takeByHand(call(7), gradients, kernels, needNorm);
    }

    @Test
    void theNormIsThatOfTheMeansIfItIsNeeded() {
        GradientParts.Parted finite = gradients(numbers(12, 16), numbers(9));
        assertEquals(new EffectiveBatch(4, OptionalDouble.empty(), Optional.empty()), check(false, finite));
        EffectiveBatch checked = check(true, finite);
        assertEquals(Optional.empty(), checked.skip());
        assertEquals(5, checked.norm().orElseThrow(), 1e-6);
        assertArrayEquals(new float[] {12, 16, 9}, finite.all().toFloatVector());
    }

    @Test
    void infinitiesAreSeenAmongGradientsAndUpdatesAndZerosAreLeft() {
        for (boolean needNorm : new boolean[] {false, true}) {
            for (GradientParts.Parted bad : List.of(
                    gradients(numbers(1, Float.POSITIVE_INFINITY), numbers(9)),
                    gradients(numbers(1, 2), numbers(Float.NaN)))) {
                Skip skip = check(needNorm, bad).skip().orElseThrow();
                assertEquals(Skip.Cause.UNSCALED, skip.cause());
                assertEquals("gradients that the updater was given by hand weren't finite in iteration 7", skip.what());
                assertEquals(Optional.empty(), skip.first(), "no parameter is to blame");
                assertArrayEquals(new float[3], bad.all().toFloatVector());
            }
        }
    }

    @Test
    void theFirstParameterIsFound() {
        INDArray view = network.getGradientsViewArray();
        view.putScalar(0, Float.NaN);
        Skip skip = check(false, new GradientParts.Parted(null, view, List.of(), List.of(), List.of()))
                .skip()
                .orElseThrow();
        assertArrayEquals(new float[(int) view.length()], view.ravel().toFloatVector());
        assertEquals(Optional.of("parameter \"W\" of layer \"layer0\""), skip.first());
    }

    private static Skip skip(Optional<String> first) {
        return new Skip(Skip.Cause.UNSCALED, "these aren't finite", first);
    }

    @Test
    void theLogNamesTheFirstParameterIfThereIsOne() {
        updates().addByHand(skip(Optional.of("parameter \"W\"")));
        updates().addByHand(skip(Optional.empty()));
        assertEquals(
                List.of(
                        "Update skipped: these aren't finite, first those of parameter \"W\"",
                        "Update skipped: these aren't finite"),
                lines.list.stream().map(ILoggingEvent::getFormattedMessage).toList());
    }

    @Test
    void tooManyInARowEndInAnException() {
        SkippedSteps updates = updates();
        Skip bad = skip(Optional.empty());
        updates.addByHand(bad);
        updates.addByHand(bad);
        updates.takenByHand();
        updates.addByHand(bad);
        updates.addByHand(bad);
        AmpException e = assertThrows(AmpException.class, () -> updates.addByHand(bad));
        assertTrue(
                e.getMessage()
                        .startsWith("3 updates in a row were skipped (maxConsecutiveSkips(3)): these aren't finite"),
                e::getMessage);
        assertThrows(AmpException.class, () -> updates.addByHand(bad));
    }
}
