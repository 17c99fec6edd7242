package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import java.util.Optional;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.NoLossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.dl4jamp.scale.Skip;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SkippedStepsTest {
    private final LoggerContext context = new LoggerContext();
    private final Logger log = context.getLogger("steps");
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

    @BeforeEach
    void listen() {
        lines.setContext(context);
        lines.start();
        log.setLevel(Level.DEBUG);
        log.addAppender(lines);
    }

    private List<String> logged() {
        return lines.list.stream()
                .map(line -> line.getLevel() + " " + line.getFormattedMessage())
                .toList();
    }

    private static Skip skip(Skip.Cause cause) {
        return new Skip(cause, "something isn't finite", Optional.empty());
    }

    private static StepCounts inARow(int consecutive) {
        return new StepCounts(10, consecutive, consecutive, 0);
    }

    private static LossScaler dynamic() {
        return DynamicLossScaler.builder().initialScale(1024).build();
    }

    private String limitReached(LossScaler scaler, Skip skip) {
        ScaleUpdates updates = new ScaleUpdates(scaler, Optional.empty());
        updates.count();
        SkippedSteps steps = new SkippedSteps(log, updates, 3);
        return assertThrows(AmpException.class, () -> steps.add(skip, inARow(3)))
                .getMessage();
    }

    @Test
    void anOverflowIsLoggedAtDebugWithTheScaleOfTheNextStep() {
        ScaleUpdates updates = new ScaleUpdates(dynamic(), Optional.empty());
        updates.count();
        new SkippedSteps(log, updates, 3).add(skip(Skip.Cause.OVERFLOW), inARow(1));
        assertEquals(List.of("DEBUG Step skipped: something isn't finite; the loss scale is now 512.0"), logged());
    }

    @Test
    void theScaleOfSeveralNetworksIsLoggedAsTheOneUntilTheirUpdate() {
        LossScaler scaler = dynamic();
        ScaleUpdates updates = new ScaleUpdates(scaler, Optional.of(new SharedLossScale(scaler)));
        updates.count();
        new SkippedSteps(log, updates, 3).add(skip(Skip.Cause.OVERFLOW), inARow(1));
        assertEquals(
                List.of("DEBUG Step skipped: something isn't finite; the loss scale is, until"
                        + " SharedLossScale.update(), 1024.0"),
                logged());
    }

    @Test
    void badDataAreAWarningThatSaysWhatTheScaleStaysAt() {
        for (Skip.Cause cause : List.of(Skip.Cause.BATCH, Skip.Cause.UNSCALED, Skip.Cause.LOSS)) {
            lines.list.clear();
            new SkippedSteps(log, new ScaleUpdates(dynamic(), Optional.empty()), 3).add(skip(cause), inARow(2));
            String end = cause == Skip.Cause.LOSS ? "the loss scale stays" : "the loss scale stays at 1024.0";
            assertEquals(List.of("WARN Step skipped: something isn't finite; " + end), logged());
        }
    }

    @Test
    void trainingStopsAtTheLimitAndNotBefore() {
        SkippedSteps steps = new SkippedSteps(log, new ScaleUpdates(dynamic(), Optional.empty()), 3);
        steps.add(skip(Skip.Cause.BATCH), inARow(1));
        steps.add(skip(Skip.Cause.BATCH), inARow(2));
        AmpException atLimit = assertThrows(AmpException.class, () -> steps.add(skip(Skip.Cause.BATCH), inARow(3)));
        assertEquals(
                "3 steps in a row were skipped (maxConsecutiveSkips(3)); parameters and updater state are as they"
                        + " were before them."
                        + " Last: something isn't finite. Mend the data; neither precision nor layers are to blame",
                atLimit.getMessage());
        AmpException above = assertThrows(AmpException.class, () -> steps.add(skip(Skip.Cause.BATCH), inARow(4)));
        assertTrue(above.getMessage().startsWith("4 steps in a row"), above::getMessage);
    }

    @Test
    void theMessageNamesTheFirstParameterIfItsKnown() {
        Skip named = new Skip(Skip.Cause.LOSS, "the loss is NaN", Optional.of("W of \"dense\""));
        String message = limitReached(dynamic(), named);
        assertTrue(
                message.contains(
                        "Last: the loss is NaN; first to go non-finite in the backward pass: W of \"dense\". "),
                message);
        assertTrue(message.contains("normalize the features, lower the learning rate"), message);
    }

    @Test
    void theRemedyIsThatOfTheCause() {
        assertTrue(limitReached(dynamic(), skip(Skip.Cause.UNSCALED)).contains("They aren't scaled: try a lower"));
        assertTrue(limitReached(dynamic(), skip(Skip.Cause.LOSS)).contains("Activations overflowed"));
        assertTrue(limitReached(dynamic(), skip(Skip.Cause.OVERFLOW)).contains("keep the layers at fault in FP32"));
    }

    @Test
    void aScaleThatIsNotLoweredIsNamedWhereItIsAtFault() {
        String fixed = "The loss scale isn't lowered by ";
        String ofStatic = limitReached(new StaticLossScaler(1024), skip(Skip.Cause.OVERFLOW));
        assertTrue(ofStatic.contains(fixed + new StaticLossScaler(1024)), ofStatic);
        assertFalse(limitReached(dynamic(), skip(Skip.Cause.OVERFLOW)).contains(fixed), "it was lowered");
        assertFalse(limitReached(new NoLossScaler(), skip(Skip.Cause.OVERFLOW)).contains(fixed), "it's 1");
        LossScaler scaler = new StaticLossScaler(1024);
        ScaleUpdates later = new ScaleUpdates(scaler, Optional.of(new SharedLossScale(scaler)));
        later.count();
        SkippedSteps steps = new SkippedSteps(log, later, 1);
        String ofShared = assertThrows(AmpException.class, () -> steps.add(skip(Skip.Cause.OVERFLOW), inARow(1)))
                .getMessage();
        assertFalse(ofShared.contains(fixed), ofShared);
    }

    @Test
    void onlyAnOverflowIsTheScalesFault() {
        for (Skip.Cause cause : Skip.Cause.values()) {
            assertEquals(cause == Skip.Cause.OVERFLOW, skip(cause).isOverflow(), cause.name());
        }
    }
}
