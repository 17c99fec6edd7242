package org.dl4jamp.onednn.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

class ViewsTest {
    /** A view like that of a layer's parameters in a network's: not at the beginning. */
    private static INDArray part(int start, char order, long... shape) {
        INDArray all = Nd4j.arange(40).castTo(DataType.FLOAT);
        long length = shape[0] * shape[1] * (shape.length > 2 ? shape[2] : 1);
        return all.get(NDArrayIndex.interval(start, start + length)).reshape(order, shape);
    }

    private static void assertSameView(INDArray expected, INDArray actual) {
        assertEquals(expected, actual);
        assertArrayEquals(expected.shape(), actual.shape());
        assertArrayEquals(expected.stride(), actual.stride());
        assertEquals(expected.dup('c'), actual.dup('c'));
        assertEquals(Workspaces.address(expected), Workspaces.address(actual));
    }

    @Test
    void aPermutedViewIsNd4js() {
        for (int start : new int[] {0, 7}) {
            for (char order : new char[] {'c', 'f'}) {
                INDArray matrix = part(start, order, 3, 5);
                assertSameView(matrix.transpose(), Views.transposed(matrix));
                INDArray sequences = part(start, order, 2, 3, 4);
                assertSameView(sequences.permute(2, 0, 1), Views.permuted(sequences, 2, 0, 1));
            }
        }
    }

    @Test
    void itSharesTheNumbers() {
        INDArray matrix = part(7, 'f', 3, 5);
        INDArray view = Views.transposed(matrix);
        matrix.putScalar(2, 1, -1);
        assertEquals(-1, view.getFloat(1, 2));
        view.putScalar(4, 0, -2);
        assertEquals(-2, matrix.getFloat(0, 4));
    }

    @Test
    void aReshapedViewIsNd4jsOrACopyWhereNumbersLieInAnotherOrder() {
        INDArray matrix = part(7, 'c', 4, 6);
        assertSameView(matrix.reshape('c', 2, 2, 6), Views.reshaped(matrix, 2, 2, 6));
        INDArray columns = part(7, 'f', 4, 6);
        INDArray copy = Views.reshaped(columns, 3, 8);
        assertEquals(columns.dup('c').reshape('c', 3, 8), copy);
        assertNotEquals(Workspaces.address(columns), Workspaces.address(copy));
    }

    @Test
    void viewsOfOneShapeShareItsDescription() {
        INDArray matrix = part(7, 'f', 3, 5);
        assertSame(
                Views.transposed(matrix).shapeInfoDataBuffer(),
                Views.transposed(part(2, 'f', 3, 5)).shapeInfoDataBuffer());
    }
}
