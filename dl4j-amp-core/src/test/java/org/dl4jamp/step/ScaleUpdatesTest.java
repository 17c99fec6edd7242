package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.LossScalerState;
import org.dl4jamp.scale.NoLossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.dl4jamp.scale.Skip;
import org.junit.jupiter.api.Test;

class ScaleUpdatesTest {
    private static final Optional<Skip.Cause> OVERFLOW = Optional.of(Skip.Cause.OVERFLOW);

    private final DynamicLossScaler scaler =
            DynamicLossScaler.builder().initialScale(1024).growthInterval(2).build();
    private final ScaleUpdates updates = new ScaleUpdates(scaler, Optional.empty());

    @Test
    void aScalerIsUpdatedAfterEachStepThatWasScaled() {
        updates.count();
        updates.end(Optional.empty());
        assertEquals(1, scaler.state().growthTracker());
        updates.count();
        updates.end(Optional.empty());
        assertEquals(2048, scaler.scale());
        updates.count();
        updates.end(OVERFLOW);
        assertEquals(1024, scaler.scale());
        assertFalse(updates.areLater());
        assertSame(scaler, updates.scaler());
    }

    @Test
    void aStepThatIsSkippedForAnotherReasonLeavesTheScalerAsItWas() {
        LossScalerState before = scaler.state();
        for (Skip.Cause cause : Skip.Cause.values()) {
            if (cause != Skip.Cause.OVERFLOW) {
                updates.count();
                updates.end(Optional.of(cause));
                assertEquals(before, scaler.state(), cause.name());
            }
        }
    }

    @Test
    void stepsOfAPauseLeaveTheScalerAsItWasUnlessAMicroBatchBeforeItWasScaled() {
        LossScalerState before = scaler.state();
        updates.end(Optional.empty());
        assertEquals(before, scaler.state(), "no micro-batch was counted");
        assertFalse(updates.arePaused());
        updates.pause(true);
        assertTrue(updates.arePaused());
        updates.count();
        updates.end(Optional.empty());
        assertEquals(before, scaler.state());
        updates.pause(false);
        updates.count();
        updates.pause(true);
        updates.count();
        updates.end(OVERFLOW);
        assertEquals(512, scaler.scale());
        updates.count();
        updates.end(OVERFLOW);
        assertEquals(512, scaler.scale(), "what was scaled belongs to the step before");
    }

    @Test
    void restoredMicroBatchesCountAsScaled() {
        updates.pause(true);
        updates.restore();
        updates.end(Optional.empty());
        assertEquals(1, scaler.state().growthTracker());
    }

    @Test
    void aSharedScalerIsUpdatedAtTheEndOfTheIteration() {
        SharedLossScale shared = new SharedLossScale(scaler);
        ScaleUpdates one = new ScaleUpdates(scaler, Optional.of(shared));
        ScaleUpdates other = new ScaleUpdates(scaler, Optional.of(shared));
        assertTrue(one.areLater());
        one.begin("one");
        one.count();
        one.end(OVERFLOW);
        AmpException e = assertThrows(AmpException.class, () -> one.begin("one"));
        assertTrue(e.getMessage().contains("one is about to make a second step"), e::getMessage);
        other.begin("other");
        other.count();
        other.end(Optional.empty());
        assertEquals(1024, scaler.scale());
        shared.update();
        assertEquals(512, scaler.scale());
        one.begin("one");
    }

    @Test
    void aNetworkInFp32SaysNothingOfASharedScale() {
        SharedLossScale shared = new SharedLossScale(scaler);
        ScaleUpdates unscaled = new ScaleUpdates(new NoLossScaler(), Optional.of(shared));
        LossScalerState before = scaler.state();
        unscaled.count();
        unscaled.end(OVERFLOW);
        shared.update();
        assertEquals(before, scaler.state());
    }

    /** A scaler of a user's own. */
    private record OwnScaler(double scale) implements LossScaler {
        @Override
        public void update(boolean overflow) {
            throw new UnsupportedOperationException();
        }

        @Override
        public LossScalerState state() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void restore(LossScalerState state) {
            throw new UnsupportedOperationException();
        }

        @Override
        public LossScaler copy() {
            return this;
        }
    }

    @Test
    void aFactorIsANormalNumberInSinglePrecision() {
        for (double scale : new double[] {Float.MIN_NORMAL, 1, 1000.5, Float.MAX_VALUE}) {
            assertEquals(scale, new ScaleUpdates(new OwnScaler(scale), Optional.empty()).factor());
        }
        for (double scale : new double[] {Float.MIN_NORMAL / 2, 0, -1, Float.MAX_VALUE * 2.0, Double.NaN}) {
            ScaleUpdates bad = new ScaleUpdates(new OwnScaler(scale), Optional.empty());
            AmpException e = assertThrows(AmpException.class, bad::factor);
            assertTrue(
                    e.getMessage()
                            .startsWith("lossScaler: scale() of OwnScaler[scale=" + scale + "] returned " + scale),
                    e::getMessage);
        }
    }
}
