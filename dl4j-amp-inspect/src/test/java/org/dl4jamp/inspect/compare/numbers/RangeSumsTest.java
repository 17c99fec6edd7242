package org.dl4jamp.inspect.compare.numbers;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.factory.Nd4j;

/** Expected values are computed by hand. */
class RangeSumsTest {
    private static NumberRange range(DataType type, double... numbers) {
        RangeSums sums = new RangeSums(type);
        sums.add(Nd4j.createFromArray(numbers).castTo(type));
        return sums.range();
    }

    @Test
    void exponentsCountPowersOfTwo() {
        NumberRange range = range(DataType.FLOAT, 1, -1.99, 2, 0.5, 0, 3.5, 0x1p-149);
        assertEquals(Map.of(0, 2L, 1, 2L, -1, 1L, -149, 1L), range.exponents());
        assertEquals(7, range.numbers());
        assertEquals(1.0 / 7, range.zero(), 1e-12);
        assertEquals(3.5, range.largest());
    }

    @Test
    void nearOverflowIsWithinAFactorOfTwoOfTheTypesLargest() {
        NumberRange range = range(DataType.HALF, 32752, 32768, -65504, 1);
        assertEquals(0.5, range.nearOverflow());
        assertEquals(0, range.nonFinite());
        assertEquals("HALF", range.type());
        assertEquals(0, range(DataType.BFLOAT16, 65504, 1e30).nearOverflow());
        assertEquals(0.5, range(DataType.BFLOAT16, 1, 3e38).nearOverflow());
    }

    @Test
    void whatOverflowsIsNotFinite() {
        NumberRange range = range(DataType.HALF, 1e6, Double.NaN, 1, 1);
        assertEquals(0.5, range.nonFinite());
        assertEquals(1, range.largest());
        assertEquals(Map.of(0, 2L), range.exponents());
    }

    @Test
    void rangesOfSeveralArraysAddUp() {
        RangeSums sums = new RangeSums(DataType.FLOAT);
        sums.add(Nd4j.createFromArray(1f, 0f));
        RangeSums more = new RangeSums(DataType.FLOAT);
        more.add(Nd4j.createFromArray(4f, 1f));
        sums.add(more);
        assertEquals(Map.of(0, 2L, 2, 1L), sums.range().exponents());
        assertEquals(0.25, sums.range().zero());
        assertEquals(4, sums.range().largest());
    }
}
