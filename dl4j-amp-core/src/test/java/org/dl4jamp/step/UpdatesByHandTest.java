package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import java.util.OptionalDouble;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.gradient.GradientParts;
import org.dl4jamp.gradient.NonFiniteSource;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.precision.AmpException;
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

    private UpdatesByHand updates(boolean needNorm) {
        return new UpdatesByHand(log, new NonFiniteSource(AmpNetwork.of(network)), 3, needNorm);
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
        return new GradientParts.Parted(Nd4j.concat(0, sums, update), List.of(sums), List.of(), List.of(update));
    }

    private static INDArray numbers(float... numbers) {
        return Nd4j.createFromArray(numbers);
    }

    @Test
    void theNormIsThatOfTheMeansIfItIsNeeded() {
        GradientParts.Parted finite = gradients(numbers(12, 16), numbers(9));
        assertEquals(
                new UpdatesByHand.Checked(true, OptionalDouble.empty()),
                updates(false).check(finite, 4, kernels));
        UpdatesByHand.Checked checked = updates(true).check(finite, 4, kernels);
        assertTrue(checked.finite());
        assertEquals(5, checked.norm().orElseThrow(), 1e-6);
    }

    @Test
    void infinitiesAreSeenAmongGradientsAndUpdates() {
        for (boolean needNorm : new boolean[] {false, true}) {
            UpdatesByHand updates = updates(needNorm);
            assertFalse(updates.check(gradients(numbers(1, Float.POSITIVE_INFINITY), numbers(9)), 4, kernels)
                    .finite());
            assertFalse(updates.check(gradients(numbers(1, 2), numbers(Float.NaN)), 4, kernels)
                    .finite());
        }
    }

    @Test
    void whatIsSkippedBecomesZerosAndNamesItsFirstParameter() {
        INDArray view = network.getGradientsViewArray();
        view.putScalar(0, Float.NaN);
        updates(false).skip(new GradientParts.Parted(view, List.of(), List.of(), List.of()), 7);
        assertArrayEquals(new float[(int) view.length()], view.ravel().toFloatVector());
        assertEquals(
                List.of("Update skipped: gradients that the updater was given by hand in iteration 7 aren't finite,"
                        + " first those of parameter \"W\" of layer \"layer0\""),
                lines.list.stream().map(ILoggingEvent::getFormattedMessage).toList());
    }

    @Test
    void whereNoParameterIsToBlameNoneIsNamed() {
        updates(false).skip(gradients(numbers(Float.NaN), numbers(1)), 7);
        assertEquals(
                List.of("Update skipped: gradients that the updater was given by hand in iteration 7 aren't finite"),
                lines.list.stream().map(ILoggingEvent::getFormattedMessage).toList());
    }

    @Test
    void tooManyInARowEndInAnException() {
        UpdatesByHand updates = updates(false);
        GradientParts.Parted bad = gradients(numbers(Float.NaN), numbers(1));
        updates.skip(bad, 1);
        updates.skip(bad, 2);
        updates.taken();
        updates.skip(bad, 3);
        updates.skip(bad, 4);
        AmpException e = assertThrows(AmpException.class, () -> updates.skip(bad, 5));
        assertTrue(
                e.getMessage()
                        .startsWith("3 updates in a row were skipped (maxConsecutiveSkips(3)): gradients that the"
                                + " updater was given by hand in iteration 5 aren't finite"),
                e::getMessage);
        assertThrows(AmpException.class, () -> updates.skip(bad, 6));
    }
}
