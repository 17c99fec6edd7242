package org.dl4jamp.scale;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FixedLossScalersTest {
    @Test
    void overflowsDoNotMoveAFixedScale() {
        for (LossScaler scaler : List.of(new StaticLossScaler(1024), new NoLossScaler())) {
            double scale = scaler.scale();
            scaler.update(true);
            scaler.update(false);
            assertEquals(scale, scaler.scale());
        }
    }

    @Test
    void theScaleIsTheOneThatWasGivenOrOne() {
        assertEquals(1024.0, new StaticLossScaler(1024).scale());
        assertEquals((double) 0.1f, new StaticLossScaler(0.1).scale());
        assertEquals(1.0, new NoLossScaler().scale());
    }

    @Test
    void printTheCallThatMakesThem() {
        assertEquals("new StaticLossScaler(1024.0)", new StaticLossScaler(1024).toString());
        assertEquals("new NoLossScaler()", new NoLossScaler().toString());
    }

    @Test
    void copiesAndStatesAreEqual() {
        for (LossScaler scaler : List.of(new StaticLossScaler(0.1), new NoLossScaler())) {
            LossScaler copy = scaler.copy();
            assertNotSame(scaler, copy);
            assertEquals(scaler.state(), copy.state());
            scaler.restore(copy.state());
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY, 1e39, 1e-39})
    void aStaticScaleHasToBeAPositiveFiniteFloat(double scale) {
        AmpException e = assertThrows(AmpException.class, () -> new StaticLossScaler(scale));
        assertTrue(e.getMessage().startsWith("new StaticLossScaler(" + scale + "): "), e.getMessage());
    }

    @Test
    void statesOfOtherScalersAreRejected() {
        LossScalerState dynamic = DynamicLossScaler.builder().build().state();
        LossScalerState other = new StaticLossScaler(2).state();
        for (LossScaler scaler : List.of(new StaticLossScaler(1024), new NoLossScaler())) {
            assertThrows(AmpException.class, () -> scaler.restore(dynamic));
            assertThrows(AmpException.class, () -> scaler.restore(other));
            assertThrows(AmpException.class, () -> scaler.restore(null));
        }
    }
}
