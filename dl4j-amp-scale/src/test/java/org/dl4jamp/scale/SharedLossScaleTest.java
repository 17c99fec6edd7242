package org.dl4jamp.scale;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;

/** The scale of several networks, step by step as PyTorch's {@code GradScaler} with several optimizers. */
class SharedLossScaleTest {
    private static final Optional<Skip.Cause> TAKEN = Optional.empty();
    private static final Optional<Skip.Cause> OVERFLOW = Optional.of(Skip.Cause.OVERFLOW);
    private static final Optional<Skip.Cause> UNSCALED = Optional.of(Skip.Cause.UNSCALED);

    private final Object one = new Object();
    private final Object another = new Object();
    private final DynamicLossScaler scaler =
            DynamicLossScaler.builder().initialScale(1024).growthInterval(2).build();
    private final SharedLossScale shared = new SharedLossScale(scaler);

    private double afterIteration(Optional<Skip.Cause> first, Optional<Skip.Cause> second) {
        shared.begin(one, "one");
        shared.end(one, first);
        shared.begin(another, "another");
        shared.end(another, second);
        shared.update();
        return shared.scale();
    }

    @Test
    void anOverflowOfAnyNetworkLowersItOnceAndGrowthCountsIterations() {
        assertEquals(512, afterIteration(OVERFLOW, TAKEN));
        assertEquals(256, afterIteration(OVERFLOW, OVERFLOW));
        assertEquals(256, afterIteration(TAKEN, TAKEN));
        assertEquals(512, afterIteration(TAKEN, TAKEN));
        assertEquals(512, afterIteration(UNSCALED, TAKEN));
        assertEquals(256, afterIteration(UNSCALED, OVERFLOW));
    }

    @Test
    void stepsThatSayNothingLeaveTheScalerAsItWas() {
        afterIteration(TAKEN, TAKEN);
        LossScalerState before = scaler.state();
        for (Skip.Cause cause : Skip.Cause.values()) {
            if (cause != Skip.Cause.OVERFLOW) {
                afterIteration(Optional.of(cause), UNSCALED);
                assertEquals(before, scaler.state());
            }
        }
    }

    @Test
    void aNetworkMayBeLeftOutOfAnIteration() {
        shared.begin(one, "one");
        shared.end(one, OVERFLOW);
        shared.update();
        assertEquals(512, shared.scale());
    }

    @Test
    void itIsNotUpdatedTwice() {
        afterIteration(TAKEN, TAKEN);
        LossScalerState before = scaler.state();
        AmpException thrown = assertThrows(AmpException.class, shared::update);
        assertTrue(thrown.getMessage().contains("once per iteration"), thrown.getMessage());
        assertEquals(before, scaler.state());
    }

    @Test
    void aSecondStepWithoutAnUpdateIsRefusedUntilThereIsOne() {
        shared.end(one, OVERFLOW);
        LossScalerState before = scaler.state();
        shared.begin(another, "another");
        AmpException thrown = assertThrows(AmpException.class, () -> shared.begin(one, "the generator"));
        for (String part : List.of("the generator", "second step", "SharedLossScale.update()")) {
            assertTrue(thrown.getMessage().contains(part), thrown.getMessage());
        }
        assertEquals(before, scaler.state());
        shared.update();
        shared.begin(one, "the generator");
        assertEquals(512, shared.scale());
    }

    @Test
    void itIsTheScaleOfItsScalerAndToldByTheCallThatMakesIt() {
        assertSame(scaler, shared.scaler());
        assertEquals("new SharedLossScale(" + scaler + ")", shared.toString());
    }
}
