package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class StepReportTest {
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
    private long now;
    private StepReport report;

    @BeforeEach
    void attachToALoggerOfItsOwn() {
        LoggerContext context = new LoggerContext();
        lines.setContext(context);
        lines.start();
        ch.qos.logback.classic.Logger log = context.getLogger("report");
        log.setLevel(Level.DEBUG);
        log.addAppender(lines);
        report = new StepReport(log, () -> now, 0, 65536);
    }

    @Test
    void stepThatIsTakenIsNotWorthALine() {
        report.stepDone(1, 0, 65536);
        assertEquals(List.of(), lines.list);
    }

    @Test
    void firstSkippedStepIsReportedAtInfoWithBothScales() {
        report.stepDone(7, 1, 32768);
        assertEquals(List.of(Level.INFO), levels());
        String line = lines.list.get(0).getFormattedMessage();
        assertTrue(line.startsWith("Iteration 7 skipped"), line);
        assertTrue(line.contains("loss scale 65536.0 -> 32768.0"), line);
    }

    @Test
    void skippedStepThatTheScaleIsNotToBlameForIsReportedAsThat() {
        report.stepDone(7, 1, 65536);
        String line = lines.list.get(0).getFormattedMessage();
        assertTrue(line.startsWith("Iteration 7 skipped: its loss, gradients or data were not finite"), line);
        assertTrue(line.contains("loss scale still 65536.0"), line);
    }

    @Test
    void manySkippedStepsMakeOneLineAtInfoInTenSeconds() {
        report.stepDone(1, 1, 32768);
        report.stepDone(2, 2, 16384);
        now += TimeUnit.SECONDS.toNanos(9);
        report.stepDone(3, 3, 8192);
        now += TimeUnit.SECONDS.toNanos(1);
        report.stepDone(4, 4, 4096);
        assertEquals(List.of(Level.INFO, Level.DEBUG, Level.DEBUG, Level.INFO), levels());
        String last = lines.list.get(3).getFormattedMessage();
        assertTrue(last.contains("3 skipped since the last such line, 4 in all"), last);
    }

    @Test
    void growthOfTheScaleIsReportedAtDebug() {
        report.stepDone(2000, 0, 131072);
        assertEquals(List.of(Level.DEBUG), levels());
    }

    private List<Level> levels() {
        return lines.list.stream().map(ILoggingEvent::getLevel).toList();
    }
}
