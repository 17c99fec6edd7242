package org.dl4jamp.onednn.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class ArrayShapesTest {
    private static INDArray array(Layout layout) {
        INDArray array = ArrayShapes.array(Nd4j.createBuffer(layout.type(), layout.length(), true), layout);
        for (long i = 0; i < array.length(); i++) {
            array.data().put(i, i);
        }
        return array;
    }

    private static List<Layout> layouts() {
        return List.of(
                Layout.dense(DataType.FLOAT, 6),
                Layout.dense(DataType.FLOAT, 1, 6),
                Layout.dense(DataType.FLOAT, 6, 1),
                Layout.dense(DataType.BFLOAT16, 2, 3),
                Layout.dense(DataType.UINT8, 2, 3, 1, 5),
                Layout.channelsLast(DataType.FLOAT, 2, 3, 4),
                Layout.channelsLast(DataType.BFLOAT16, 2, 3, 4, 5),
                Layout.channelsLast(DataType.BFLOAT16, 2, 3, 1, 1),
                Layout.channelsLast(DataType.FLOAT, 1, 2, 3, 2, 2));
    }

    @Test
    void aLaterArrayIsLikeOneOfNd4js() {
        for (Layout layout : layouts()) {
            array(layout);
            INDArray later = array(layout);
            INDArray expected = Nd4j.create(
                    later.data().dup(), layout.shape(), layout.strides(), 0, later.ordering(), layout.type());
            assertArrayEquals(expected.shapeInfoJava(), later.shapeInfoJava());
            assertEquals(expected.shapeInfoToString(), later.shapeInfoToString());
            assertEquals(expected, later);
            assertEquals(
                    expected.castTo(DataType.DOUBLE).sumNumber(),
                    later.castTo(DataType.DOUBLE).sumNumber());
            assertEquals(expected.dup('c'), later.dup('c'));
        }
    }

    @Test
    void arraysOfALayoutShareItsDescriptionAndNothingElse() {
        for (Layout layout : layouts()) {
            INDArray one = array(layout);
            INDArray other = array(layout);
            assertSame(one.shapeInfoDataBuffer(), other.shapeInfoDataBuffer());
            assertNotSame(one.data(), other.data());
            one.assign(7);
            assertEquals(1, other.data().getDouble(1));
        }
    }

    @Test
    void whatChangesOneArraysShapeLeavesTheOthers() {
        Layout layout = Layout.channelsLast(DataType.FLOAT, 2, 3, 4);
        INDArray other = array(layout);
        INDArray expected = other.dup();
        INDArray one = array(layout);
        one.permutei(2, 0, 1);
        array(layout).setShapeAndStride(new int[] {4, 3, 2}, new int[] {1, 4, 12});
        array(layout).close();
        array(layout).reshape(6, 4).addi(1);
        Layout matrix = Layout.dense(DataType.FLOAT, 2, 3);
        INDArray second = array(matrix);
        array(matrix).transposei();
        assertArrayEquals(new long[] {2, 3}, second.shape());
        assertArrayEquals(new long[] {4, 2, 3}, one.shape());
        assertArrayEquals(layout.shape(), other.shape());
        assertArrayEquals(layout.strides(), other.stride());
        assertEquals(expected, other);
        assertEquals(expected, array(layout));
    }

    @Test
    void moreLayoutsThanItKeepsAndManyThreads() {
        IntStream.range(1, 6000).parallel().forEach(length -> {
            for (int i = 0; i < 2; i++) {
                INDArray array = ArrayShapes.array(
                        Nd4j.createBuffer(DataType.FLOAT, length, false), Layout.dense(DataType.FLOAT, 1, length));
                assertEquals(length, array.length());
                array.putScalar(length - 1, 3f);
                assertEquals(3f, array.getFloat(0, length - 1));
            }
        });
    }
}
