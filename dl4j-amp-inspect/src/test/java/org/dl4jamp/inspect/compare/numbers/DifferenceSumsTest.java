package org.dl4jamp.inspect.compare.numbers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Expected values are computed by hand. */
class DifferenceSumsTest {
    private static INDArray array(double... numbers) {
        return Nd4j.createFromArray(numbers).castTo(DataType.FLOAT);
    }

    private static Difference difference(INDArray reference, INDArray other) {
        DifferenceSums sums = new DifferenceSums();
        sums.add(reference, other);
        return sums.difference();
    }

    @Test
    void errorAndCosineAreThoseOfTheFormulas() {
        // Difference (0, -4): norm 4 of 5. Product 9, norms 5 and 3.
        Difference difference = difference(array(3, 4), array(3, 0));
        assertEquals(0.8, difference.error(), 1e-12);
        assertEquals(0.6, difference.cosine(), 1e-12);
        assertEquals(0.5, difference.vanished(), 1e-12);
        assertEquals(0.8, difference.lost(), 1e-12);
        assertEquals(2, difference.numbers());
    }

    @Test
    void equalNumbersDifferByNothingAlsoIfAllAreZero() {
        assertEquals(new Difference(2, 0, 1, 0, 0, 0), difference(array(0, 0), array(0, 0)));
        assertEquals(0, difference(array(1e-30, 2), array(1e-30, 2)).error());
    }

    @Test
    void numbersInPlaceOfZerosDifferInfinitely() {
        Difference difference = difference(array(0, 0), array(0, 1));
        assertEquals(Double.POSITIVE_INFINITY, difference.error());
        assertEquals(0, difference.cosine());
        assertEquals(0, difference.vanished());
    }

    @Test
    void vanishedIsAShareOfThoseThatAreNotZeroInFp32() {
        assertEquals(
                2.0 / 3, difference(array(0, 1, 2, 3, 0), array(0, 0, 0, 3, 1)).vanished(), 1e-12);
    }

    @Test
    void tinyNumbersAreNotLostInTheSums() {
        Difference difference = difference(array(3e-30, 4e-30), array(3e-30, 0));
        assertEquals(0.8, difference.error(), 1e-6);
    }

    @Test
    void infinitiesAreCountedAndMakeTheErrorInfinite() {
        Difference difference = difference(array(1, 2, 3, 4), array(1, Double.POSITIVE_INFINITY, Double.NaN, 4));
        assertEquals(Double.POSITIVE_INFINITY, difference.error());
        assertEquals(0.5, difference.nonFinite());
        assertTrue(Double.isNaN(difference.cosine()));
        assertTrue(difference.overflows());
    }

    @Test
    void whatIsNotFiniteInFp32CannotBeCompared() {
        Difference difference = difference(array(1, Double.NaN), array(1, Double.NaN));
        assertTrue(Double.isNaN(difference.error()));
        assertEquals(false, difference.overflows());
    }

    @Test
    void sumsOfPartsAreThoseOfTheWhole() {
        DifferenceSums whole = new DifferenceSums();
        whole.add(array(1, 2, 3, 4), array(1, 2.5, 0, 4));
        DifferenceSums parts = new DifferenceSums();
        parts.add(array(1, 2), array(1, 2.5));
        DifferenceSums more = new DifferenceSums();
        more.add(array(3, 4), array(0, 4));
        parts.add(more);
        assertEquals(whole.difference(), parts.difference());
    }

    @Test
    void arraysOfOtherTypesAndOrdersAndLongerThanAChunkAreComparedByPosition() {
        long rows = Chunks.SIZE / 2 + 1;
        INDArray reference = Nd4j.ones(DataType.FLOAT, rows, 3);
        reference.putScalar(rows - 1, 2, 0);
        INDArray other = reference.dup('f').castTo(DataType.HALF);
        assertEquals(0, difference(reference, other).error());
        other.putScalar(0, 1, 2);
        assertEquals(
                Math.sqrt(1.0 / (3 * rows - 1)), difference(reference, other).error(), 1e-9);
    }

    @Test
    void arraysOfDifferentLengthAreRefused() {
        assertThrows(AmpException.class, () -> difference(array(1, 2), array(1)));
    }
}
