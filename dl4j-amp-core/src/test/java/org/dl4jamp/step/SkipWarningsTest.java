package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertEquals;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class SkipWarningsTest {
    private long now;

    @Test
    void badBatchesMakeOneWarningInTenSecondsAndTheNextOneCountsThem() {
        LoggerContext context = new LoggerContext();
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.setContext(context);
        lines.start();
        Logger log = context.getLogger("steps");
        log.setLevel(Level.DEBUG);
        log.addAppender(lines);
        SkippedSteps.Warnings warnings = new SkippedSteps.Warnings(log, () -> now);
        warnings.warn("first {}");
        warnings.warn("second");
        now += TimeUnit.SECONDS.toNanos(9);
        warnings.warn("third");
        now += TimeUnit.SECONDS.toNanos(1);
        warnings.warn("fourth");
        now += TimeUnit.SECONDS.toNanos(10);
        warnings.warn("fifth");
        assertEquals(
                List.of(
                        "WARN first {}",
                        "DEBUG second",
                        "DEBUG third",
                        "WARN fourth; 2 such warnings were left out before",
                        "WARN fifth"),
                lines.list.stream()
                        .map(line -> line.getLevel() + " " + line.getFormattedMessage())
                        .toList());
    }
}
