package org.dl4jamp.examples.digits;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.dataset.DataSet;

class DigitsTest {
    private final Digits digits = Digits.load();

    @Test
    void hasTheImagesOfTheUciTestSetPerDigit() {
        assertEquals(1797, digits.size());
        int[] count = new int[Digits.CLASSES];
        for (int i = 0; i < digits.size(); i++) {
            count[digits.label(i)]++;
        }
        // As optdigits.names states them for the test set.
        assertArrayEquals(new int[] {178, 182, 177, 183, 181, 182, 181, 179, 174, 180}, count);
    }

    @Test
    void pixelsGoFromZeroToOneInSixteenths() {
        boolean anyFull = false;
        for (int i = 0; i < digits.size(); i++) {
            for (int pixel = 0; pixel < Digits.SIDE * Digits.SIDE; pixel++) {
                float value = digits.pixel(i, pixel / Digits.SIDE, pixel % Digits.SIDE);
                assertTrue(value >= 0 && value <= 1 && value * 16 == Math.round(value * 16), "pixel " + value);
                anyFull |= value == 1;
            }
        }
        assertTrue(anyFull);
    }

    @Test
    void firstImageIsTheZeroThatTheFileStartsWith() {
        assertEquals(0, digits.label(0));
        assertEquals(13 / 16f, digits.pixel(0, 0, 3));
        assertEquals(15 / 16f, digits.pixel(0, 1, 3));
    }

    @Test
    void shuffleDependsOnItsSeedOnlyAndLosesNothing() {
        Digits once = digits.shuffled(3);
        Digits again = digits.shuffled(3);
        Digits other = digits.shuffled(4);
        assertEquals(once.toDataSet().getFeatures(), again.toDataSet().getFeatures());
        assertEquals(once.toDataSet().getLabels(), again.toDataSet().getLabels());
        assertNotEquals(once.toDataSet().getLabels(), other.toDataSet().getLabels());
        assertEquals(
                digits.toDataSet().getLabels().sum(0),
                once.toDataSet().getLabels().sum(0));
    }

    @Test
    void batchesTakeEveryImageOnceInOrder() {
        List<DataSet> batches = digits.range(0, 100).batches(64);
        assertEquals(2, batches.size());
        assertArrayEquals(new long[] {64, 1, 8, 8}, batches.get(0).getFeatures().shape());
        assertArrayEquals(new long[] {36, 10}, batches.get(1).getLabels().shape());
        assertEquals(1, batches.get(1).getLabels().getInt(0, digits.label(64)));
        assertEquals(digits.pixel(64, 2, 5), batches.get(1).getFeatures().getFloat(0, 0, 2, 5));
    }
}
