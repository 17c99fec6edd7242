package org.dl4jamp.benchmarks.side;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class OutputDifferenceTest {
    @Test
    void itIsTheLargestInFractionsOfTheLargestOutput() {
        assertEquals(0.25, OutputDifference.of(new float[] {1, -4, 2}, new float[] {1.5f, -3, 2}));
        assertEquals(0, OutputDifference.of(new float[] {1, 2}, new float[] {1, 2}));
    }

    @Test
    void whatIsntANumberIsNoAgreement() {
        assertTrue(Double.isNaN(OutputDifference.of(new float[] {1, 2}, new float[] {Float.NaN, 2})));
    }

    @Test
    void outputsOfAnotherShapeAreRefused() {
        String message = assertThrows(
                        IllegalStateException.class, () -> OutputDifference.of(new float[2], new float[3]))
                .getMessage();
        assertTrue(message.contains("2 outputs") && message.contains("3"), message);
    }
}
