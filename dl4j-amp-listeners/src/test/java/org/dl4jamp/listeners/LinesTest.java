package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.OptionalDouble;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** The lines of {@link LossScaleListener} and {@link ThroughputListener}. */
class LinesTest {
    static final StepFigures FIGURES = new StepFigures(
            200,
            1,
            0.5,
            OptionalDouble.of(32768),
            197,
            3,
            OptionalDouble.of(0.01235),
            OptionalDouble.of(5183.4),
            1204L << 20);

    static final StepFigures WITHOUT = new StepFigures(
            1, 0, 0.5, OptionalDouble.empty(), 0, 0, OptionalDouble.empty(), OptionalDouble.empty(), 2L << 20);

    @Test
    void scaleAndSkipsStandInOneLine() {
        assertEquals(
                "Iteration 200: loss scale 32768.0, 197 steps taken, 3 skipped (1.5 %)",
                LossScaleListener.line(FIGURES));
    }

    @Test
    void aNetworkInFp32HasNoScale() {
        assertEquals("Iteration 1: not in mixed precision, so no loss scale", LossScaleListener.line(WITHOUT));
    }

    @Test
    void speedAndMemoryStandInOneLine() {
        assertEquals(
                "Iteration 200: 12.35 ms per iteration, 5183 examples per second, 1204 MB of memory",
                ThroughputListener.line(FIGURES));
        assertEquals("Iteration 1: no iteration timed yet, 2 MB of memory", ThroughputListener.line(WITHOUT));
    }

    @Test
    void bothLogAtInfoEveryIntervalOfIterations() {
        LoggerContext context = new LoggerContext();
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.setContext(context);
        lines.start();
        context.getLogger("test").addAppender(lines);
        MultiLayerNetwork network = SmallNetwork.of(new Sgd(0.1));
        network.setListeners(
                new LossScaleListener(2, context.getLogger("test")),
                new ThroughputListener(3, context.getLogger("test")));
        for (int i = 0; i < 6; i++) {
            network.fit(Nd4j.zeros(DataType.FLOAT, 2, 4), Nd4j.eye(2));
        }
        assertEquals(5, lines.list.size());
        assertTrue(lines.list.stream().allMatch(line -> line.getLevel() == Level.INFO));
    }
}
