package org.dl4jamp.onednn.twin;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Random;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

class GradientSumTest {
    private final OneDnnContext context = new OneDnnContext();

    @AfterEach
    void close() {
        context.close();
    }

    private final INDArray first = gaussian(new Random(1), 1, 2, 5, 3, 4);
    private final INDArray second = gaussian(new Random(2), 1, 2, 5, 3, 4);

    private static INDArray channelsLast(INDArray array) {
        return Workspaces.channelsLast(LayerWorkspaceMgr.noWorkspaces(), ArrayType.INPUT, DataType.FLOAT, array.shape())
                .assign(array);
    }

    @Test
    void addsInPlaceWhateverTheOrderOfTheOther() {
        INDArray expected = first.add(second).add(first);
        INDArray memory = channelsLast(first);
        INDArray sum = GradientSum.of(memory, context);
        assertNotSame(memory, sum);
        INDArray result = sum.addi(channelsLast(second));
        assertSame(sum, result);
        result.addi(first);
        assertEquals(expected, memory);
    }

    @Test
    void addsAfterMixedPrecisionWasClosed() {
        INDArray memory = channelsLast(first);
        INDArray sum = GradientSum.of(memory, context);
        context.close();
        assertSame(sum, sum.addi(channelsLast(second)));
        assertEquals(first.add(second), memory);
    }

    @Test
    void isTheArrayInAllElse() {
        INDArray sum = GradientSum.of(channelsLast(first), context);
        assertArrayEquals(first.shape(), sum.shape());
        assertEquals(first.getDouble(1, 2, 0, 3), sum.getDouble(1, 2, 0, 3));
        assertEquals(first.mul(2), sum.mul(2));
        RuntimeException own = assertThrows(RuntimeException.class, () -> first.addi(second.reshape(5, 24)));
        assertEquals(
                own.getClass(),
                assertThrows(RuntimeException.class, () -> sum.addi(second.reshape(5, 24)))
                        .getClass());
    }

    @Test
    void leavesArraysAloneThatNd4jAddsFast() {
        assertSame(first, GradientSum.of(first, context));
        INDArray matrix = gaussian(new Random(3), 1, 4, 5);
        assertSame(matrix, GradientSum.of(matrix, context));
    }
}
