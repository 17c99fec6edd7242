package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** Statistics of arrays equal those by hand. */
class NumberStatisticsTest {
    @Test
    void halfHasItsOwnLimits() {
        INDArray array = Nd4j.createFromArray(
                        0f, -0f, 1e-7f, 6e-5f, 6.2e-5f, 1f, -32768f, 40000f, Float.POSITIVE_INFINITY, Float.NaN)
                .castTo(DataType.HALF);
        NumberStatistics of = NumberStatistics.of(array);
        assertEquals(DataType.HALF, of.type());
        assertEquals(10, of.numbers());
        assertEquals(0.2, of.zero());
        assertEquals(0.2, of.subnormal(), "below 2^-14, which is 6.104e-5");
        assertEquals(0.2, of.nearOverflow(), "above 32752");
        assertEquals(0.2, of.nonFinite());
        assertEquals(40000, of.largest());
    }

    @Test
    void bfloat16AndFloatHaveTheRangeOfFloat() {
        for (DataType type : new DataType[] {DataType.BFLOAT16, DataType.FLOAT}) {
            NumberStatistics of = NumberStatistics.of(type, 0, 1e-39f, 1e-30f, 1e38f, 2e38f);
            assertEquals(0.2, of.zero());
            assertEquals(0.2, of.subnormal());
            assertEquals(0.2, of.nearOverflow());
            assertEquals(0, of.nonFinite());
            assertEquals(2e38f, of.largest());
        }
    }

    @Test
    void allNonFiniteHasNoLargest() {
        assertEquals(
                new NumberStatistics(DataType.FLOAT, 1, 0, 0, 0, 1, 0),
                NumberStatistics.of(DataType.FLOAT, Float.NEGATIVE_INFINITY));
    }

    @Test
    void ofALargeArrayEvenlySpacedNumbersAreRead() {
        INDArray array = Nd4j.arange(3 * NumberStatistics.MOST).castTo(DataType.FLOAT);
        NumberStatistics of = NumberStatistics.of(array);
        assertEquals(2458, of.numbers(), "each fifth");
        assertEquals(5 * 2457, of.largest());
        assertEquals(1.0 / 2458, of.zero());
    }

    @Test
    void ofImagesAllColumnsAreRead() {
        INDArray images = Nd4j.ones(DataType.FLOAT, 64, 16, 8, 8);
        images.get(NDArrayIndex.all(), NDArrayIndex.all(), NDArrayIndex.all(), NDArrayIndex.point(0))
                .assign(0);
        assertEquals(1 / 8.0, NumberStatistics.of(images).zero(), 0.01);
    }

    @Test
    void axesInAnotherOrderAreReadWhereTheyAre() {
        INDArray array = Nd4j.zeros(DataType.FLOAT, 4, 64, 64).addi(2).permute(2, 0, 1);
        NumberStatistics of = NumberStatistics.of(array);
        assertEquals(3277, of.numbers(), "each fifth");
        assertEquals(2, of.largest());
        assertEquals(0, of.zero());
    }

    @Test
    void aPartOfALargerArrayIsReadAlone() {
        INDArray whole = Nd4j.zeros(DataType.FLOAT, 100, 200).addi(Double.NaN);
        INDArray part = whole.get(NDArrayIndex.interval(10, 90), NDArrayIndex.interval(20, 120));
        part.assign(5);
        NumberStatistics of = NumberStatistics.of(part);
        assertEquals(0, of.nonFinite());
        assertEquals(5, of.largest());
        assertEquals(4000, of.numbers(), "whole rows, as many as fit");
    }

    @Test
    void rowsOfALargerArrayAreReadWhereTheyBegin() {
        INDArray whole = Nd4j.zeros(DataType.FLOAT, 100, 200).addi(Double.NaN);
        INDArray part = whole.get(NDArrayIndex.interval(10, 90), NDArrayIndex.all());
        part.assign(5);
        NumberStatistics of = NumberStatistics.of(part);
        assertEquals(0, of.nonFinite());
        assertEquals(5, of.largest());
        assertEquals(2286, of.numbers(), "each seventh");
    }
}
