package org.dl4jamp.engine.nd4j;

import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.interval;
import static org.nd4j.linalg.indexing.NDArrayIndex.point;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks that products come out right on this machine. Releases of ND4J differ in what they do with mixed types, and
 * for GPUs older than compute capability 6.0 their CUDA code writes HALF numbers where FLOAT ones belong.
 */
final class ProductsCheck {
    private static final Logger LOG = LoggerFactory.getLogger(ProductsCheck.class);

    /** Sums of as many products need FP32: in FP16 they don't get beyond 2048 by steps of one. */
    private static final int TERMS = 4096;

    /** A product to try: of a matrix {@code [rows, terms]} and one {@code [terms, columns]}. */
    private record Size(int rows, int terms, int columns) {}

    /** Long sums, and a size of one in each place, where libraries take matrices for vectors and numbers. */
    private static final List<Size> SIZES = List.of(
            new Size(3, TERMS, 2),
            new Size(1, 5, 4),
            new Size(3, 1, 4),
            new Size(3, 5, 1),
            new Size(1, 1, 4),
            new Size(1, 5, 1),
            new Size(3, 1, 1),
            new Size(1, 1, 1));

    private ProductsCheck() {}

    /**
     * Tries products in all orders that matrices have in memory here: row by row, column by column, a part of something
     * larger, a time step of sequences. They are added to what the result holds, or overwrite it, even if that's no
     * number.
     */
    static boolean isRight(Products products) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return SIZES.stream().allMatch(size -> isRight(products, size)) && isRightInBatches(products);
        } catch (RuntimeException e) {
            LOG.debug("Products of HALF matrices failed", e);
            return false;
        }
    }

    /** Tries two by two products at once, of transposed matrices and of parts of each row, as attention has them. */
    private static boolean isRightInBatches(Products products) {
        INDArray a = Nd4j.zeros(DataType.HALF, 2, 3, 2, TERMS).permute(0, 2, 1, 3);
        INDArray b = Nd4j.zeros(DataType.HALF, 2, 2, 4, TERMS).permute(0, 1, 3, 2);
        INDArray result = Nd4j.create(DataType.FLOAT, 2, 2, 3, 4);
        float[][] right = numbers(TERMS, 4, 3);
        for (int i = 0; i < 4; i++) {
            matrix(a, i).assign(Nd4j.createFromArray(numbers(3, TERMS, 2 + i)));
            matrix(b, i).assign(Nd4j.createFromArray(right));
        }
        products.multiply(a, b, result, 0, WorkingMemory.forward(LayerWorkspaceMgr.noWorkspaces()));
        return IntStream.range(0, 4)
                .allMatch(i -> Arrays.deepEquals(
                        product(numbers(3, TERMS, 2 + i), right, 0),
                        matrix(result, i).toFloatMatrix()));
    }

    private static INDArray matrix(INDArray batch, int index) {
        return batch.get(point(index / 2), point(index % 2), all(), all());
    }

    private static boolean isRight(Products products, Size size) {
        float[][] left = numbers(size.rows(), size.terms(), 2);
        float[][] right = numbers(size.terms(), size.columns(), 3);
        for (INDArray a : inAllOrders(Nd4j.createFromArray(left).castTo(DataType.HALF))) {
            for (INDArray b : inAllOrders(Nd4j.createFromArray(right).castTo(DataType.HALF))) {
                for (double kept : new double[] {2, 0}) {
                    float before = kept == 0 ? Float.NaN : 1;
                    float[][] expected = product(left, right, (float) kept);
                    INDArray filled =
                            Nd4j.valueArrayOf(new long[] {size.rows(), size.columns()}, before, DataType.FLOAT);
                    for (INDArray result : inAllOrders(filled)) {
                        products.multiply(a, b, result, kept, WorkingMemory.forward(LayerWorkspaceMgr.noWorkspaces()));
                        if (!Arrays.deepEquals(expected, result.toFloatMatrix())) {
                            LOG.debug("Products of HALF matrices are wrong for {}, keeping {}", size, kept);
                            return false;
                        }
                    }
                }
            }
        }
        return true;
    }

    /** Returns small whole numbers, which HALF has. */
    private static float[][] numbers(int rows, int columns, int modulus) {
        float[][] numbers = new float[rows][columns];
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                numbers[row][column] = 1 + (row + 2 * column) % modulus;
            }
        }
        return numbers;
    }

    private static float[][] product(float[][] left, float[][] right, float kept) {
        float[][] product = new float[left.length][right[0].length];
        for (int row = 0; row < left.length; row++) {
            for (int column = 0; column < right[0].length; column++) {
                float sum = kept;
                for (int term = 0; term < right.length; term++) {
                    sum += left[row][term] * right[term][column];
                }
                product[row][column] = sum;
            }
        }
        return product;
    }

    private static List<INDArray> inAllOrders(INDArray matrix) {
        DataType type = matrix.dataType();
        long rows = matrix.size(0);
        long columns = matrix.size(1);
        INDArray wide = Nd4j.zeros(type, rows + 2, columns + 3);
        INDArray part = wide.get(interval(1, rows + 1), interval(2, columns + 2));
        INDArray sequences = Nd4j.createUninitialized(type, new long[] {rows, 3, columns}, 'f');
        INDArray step = LstmCell.row(sequences.assign(0), 1);
        return List.of(matrix.dup('c'), matrix.dup('f'), part.assign(matrix), step.assign(matrix));
    }
}
