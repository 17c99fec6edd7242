package org.dl4jamp.engine.nd4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.Random;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

class ProductsTest {
    private static final WorkingMemory MEMORY = WorkingMemory.forward(TwinHarness.noWorkspaces());

    private final Random random = new Random(17);

    /** Returns what the twins compute with on this backend. */
    private static Products products() {
        return TwinHarness.Way.HALF_PRODUCTS.products().orElseThrow();
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 1", "1, 5, 1", "5, 1, 3", "1, 4, 6", "7, 4, 1", "3, 5, 9"})
    void matricesInAnyOrderAndSlicesOfThem(int rows, int terms, int columns) {
        INDArray left = TestArrays.gaussian(random, 1, rows, terms);
        INDArray right = TestArrays.gaussian(random, 1, terms, columns);
        INDArray before = TestArrays.gaussian(random, 1, rows, columns);
        INDArray expected = left.castTo(DataType.DOUBLE)
                .mmul(right.castTo(DataType.DOUBLE))
                .addi(before.castTo(DataType.DOUBLE))
                .castTo(DataType.FLOAT);
        for (INDArray a : inManyOrders(TestArrays.half(left))) {
            for (INDArray b : inManyOrders(TestArrays.half(right))) {
                for (char order : new char[] {'c', 'f'}) {
                    INDArray result = before.dup(order);
                    products().multiply(a, b, result, 1, MEMORY);
                    assertTrue(result.equalsWithEps(expected, 1e-5), () -> result + " instead of " + expected);
                }
            }
        }
    }

    /** The same matrix, column by column, row by row, and as part of larger ones. */
    private static INDArray[] inManyOrders(INDArray matrix) {
        INDArray wide = Nd4j.zeros(DataType.HALF, matrix.size(0) + 2, matrix.size(1) + 3);
        INDArray part =
                wide.get(NDArrayIndex.interval(1, matrix.size(0) + 1), NDArrayIndex.interval(2, matrix.size(1) + 2));
        part.assign(matrix);
        INDArray deep = Nd4j.createUninitialized(DataType.HALF, new long[] {matrix.size(0), 3, matrix.size(1)}, 'f');
        INDArray step = LstmCell.row(deep, 1);
        step.assign(matrix);
        return new INDArray[] {
            matrix.dup('c'), matrix.dup('f'), matrix.transpose().dup('c').transpose(), part, step
        };
    }

    @Test
    void aResultIsOverwrittenWhateverItHolds() {
        INDArray result = Nd4j.valueArrayOf(new long[] {2, 2}, Double.NaN, DataType.FLOAT);
        INDArray twos = Nd4j.valueArrayOf(new long[] {2, 2}, 2, DataType.HALF);
        products().multiply(twos, twos, result, 0, MEMORY);
        assertEquals(Nd4j.valueArrayOf(new long[] {2, 2}, 8, DataType.FLOAT), result);
    }

    @Test
    void theCheckBeforeUseTellsFp32SumsFromOthers() {
        assertTrue(ProductsCheck.isRight(Products.CAST));
        Products summingInHalf =
                (a, b, result, kept, memory) -> result.muli(kept).addi(a.mmul(b).castTo(DataType.FLOAT));
        assertFalse(ProductsCheck.isRight(summingInHalf));
        Products forgettingTheResult = (a, b, result, kept, memory) -> Products.CAST.multiply(a, b, result, 0, memory);
        assertFalse(ProductsCheck.isRight(forgettingTheResult));
    }

    /** Cases that BLAS libraries leave undefined, or that backends get wrong. */
    @Test
    void theCheckBeforeUseTriesWhatLayersDo() {
        Products multiplyingNaNByZero = (a, b, result, kept, memory) -> {
            INDArray before = result.mul(kept);
            Products.CAST.multiply(a, b, result, 0, memory);
            result.addi(before);
        };
        assertFalse(ProductsCheck.isRight(multiplyingNaNByZero), "overwriting a result that's NaN");
        Products takingViewsForWhole = (a, b, result, kept, memory) -> {
            INDArray left = a.isView() ? a.mul(2) : a;
            Products.CAST.multiply(left, b, result, kept, memory);
        };
        assertFalse(ProductsCheck.isRight(takingViewsForWhole), "time steps of sequences");
        Products writingViewsElsewhere = (a, b, result, kept, memory) ->
                Products.CAST.multiply(a, b, result.isView() ? result.dup() : result, kept, memory);
        assertFalse(ProductsCheck.isRight(writingViewsElsewhere), "results within something larger");
        Products takingTheFirstOfABatch = (a, b, result, kept, memory) -> {
            Products.CAST.multiply(a, b, result, kept, memory);
            if (result.rank() == 4) {
                result.tensorAlongDimension(3, 2, 3).assign(result.tensorAlongDimension(0, 2, 3));
            }
        };
        assertFalse(ProductsCheck.isRight(takingTheFirstOfABatch), "batches");
        for (int place = 0; place < 3; place++) {
            int one = place;
            Products wrongForVectors = (a, b, result, kept, memory) -> {
                Products.CAST.multiply(a, b, result, kept, memory);
                long[] sizes = {a.size(0), a.size(1), b.size(1)};
                if (sizes[one] == 1) {
                    result.addi(1);
                }
            };
            assertFalse(ProductsCheck.isRight(wrongForVectors), "a size of one in place " + place);
        }
    }

    @Test
    void aGpuThatOnlyCastsIsLeftToFp32AndACpuIsNotAsked() {
        assertEquals(Nd4jEngine.Worth.FAST_PRODUCTS, Nd4jEngine.Worth.of(true, () -> Optional.of(Products.CAST)));
        assertEquals(Precision.HALF, Nd4jEngine.Worth.FAST_PRODUCTS.precision());
        Nd4jEngine.Worth casting = Nd4jEngine.Worth.of(true, Optional::empty);
        assertEquals(Precision.FLOAT, casting.precision());
        assertTrue(casting.reason().contains("doesn't multiply HALF matrices into FP32 on this GPU"));
        assertEquals(Nd4jEngine.Worth.NUMERICS_ONLY, Nd4jEngine.Worth.of(false, () -> {
            throw new AssertionError("asked on a CPU");
        }));
    }

    @Test
    void halfMatricesAreMultipliedAsTheyAreOnlyWhereTheBackendCan() {
        assertEquals(
                Nd4jEngine.onCuda() && ProductsCheck.isRight(Products.MIXED_TYPES),
                Products.fast().isPresent());
        if (!Nd4jEngine.onCuda()) {
            assertFalse(ProductsCheck.isRight(Products.MIXED_TYPES), "the CPU backend rejects mixed types");
        }
    }
}
