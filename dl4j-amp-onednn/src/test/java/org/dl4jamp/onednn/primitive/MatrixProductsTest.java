package org.dl4jamp.onednn.primitive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import org.dl4jamp.Networks;
import org.dl4jamp.onednn.Types;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** Products of arrays of any strides, against sums of products in double precision. */
class MatrixProductsTest {
    private static final int CASES = Integer.getInteger("amp.products.cases", 60);

    /** Returns an array whose axes are in an order of memory drawn at random, maybe a part of a larger one. */
    private static INDArray draw(Random random, DataType type, long... shape) {
        int rank = shape.length;
        Integer[] order = new Integer[rank];
        Arrays.setAll(order, axis -> axis);
        if (random.nextBoolean()) {
            java.util.Collections.shuffle(Arrays.asList(order), random);
        }
        long[] stored = new long[rank];
        int[] back = new int[rank];
        boolean part = random.nextInt(3) == 0;
        for (int place = 0; place < rank; place++) {
            stored[place] = shape[order[place]] + (part ? random.nextInt(3) : 0);
            back[order[place]] = place;
        }
        INDArray memory =
                Networks.uniform(random.nextInt(1 << 20), stored).subi(0.5).castTo(type);
        INDArray turned = memory.permute(back);
        org.nd4j.linalg.indexing.INDArrayIndex[] inside = new org.nd4j.linalg.indexing.INDArrayIndex[rank];
        for (int axis = 0; axis < rank; axis++) {
            inside[axis] = NDArrayIndex.interval(0, shape[axis]);
        }
        INDArray drawn = part ? turned.get(inside) : turned;
        return drawn.rank() == rank && Arrays.equals(drawn.shape(), shape)
                ? drawn
                : turned.dup().reshape(shape);
    }

    private static double[][] matrix(INDArray stack, long number, long rows, long columns) {
        double[][] numbers = new double[(int) rows][(int) columns];
        INDArray one =
                stack.castTo(DataType.DOUBLE).dup('c').reshape('c', stack.length() / rows / columns, rows, columns);
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                numbers[row][column] = one.getDouble(number, row, column);
            }
        }
        return numbers;
    }

    @Test
    void productsOfAnyStridesAreThoseOfTheFormula() {
        long seed = Long.getLong("amp.products.seed", 1);
        Random random = new Random(seed);
        try (OneDnnContext context = new OneDnnContext()) {
            for (int number = 0; number < CASES; number++) {
                DataType type = Types.here().get(random.nextInt(Types.here().size()));
                check(context, random, type, "seed " + seed + ", case " + number);
            }
        }
    }

    private static void check(OneDnnContext context, Random random, DataType type, String what) {
        int leading = random.nextInt(3);
        long[] sizes = new long[leading];
        Arrays.setAll(sizes, axis -> 1L + random.nextInt(4));
        long rows = 1L + random.nextInt(9);
        long inner = 1L + random.nextInt(9);
        long columns = 1L + random.nextInt(9);
        INDArray left = draw(random, type, shape(sizes, rows, inner));
        INDArray right = draw(random, type, shape(sizes, inner, columns));
        INDArray target = draw(random, random.nextBoolean() ? type : DataType.FLOAT, shape(sizes, rows, columns));
        what += ": " + left.shapeInfoToString() + right.shapeInfoToString() + target.shapeInfoToString();
        if (!MatrixProducts.isWritable(target)) {
            INDArray refused = target;
            assertThrows(
                    IllegalArgumentException.class, () -> context.products().multiply(left, right, refused), what);
            target = target.dup('c');
        }
        context.products().multiply(left, right, target);
        double rounding = target.dataType() == DataType.FLOAT ? 1e-5 : 1.0 / 128;
        for (long one = 0; one < target.length() / rows / columns; one++) {
            double[][] first = matrix(left, one, rows, inner);
            double[][] second = matrix(right, one, inner, columns);
            double[][] product = matrix(target, one, rows, columns);
            for (int row = 0; row < rows; row++) {
                for (int column = 0; column < columns; column++) {
                    double sum = 0;
                    for (int k = 0; k < inner; k++) {
                        sum += first[row][k] * second[k][column];
                    }
                    assertEquals(sum, product[row][column], rounding * (1e-2 + Math.abs(sum)) + 1e-6, what);
                }
            }
        }
    }

    private static long[] shape(long[] leading, long rows, long columns) {
        long[] shape = Arrays.copyOf(leading, leading.length + 2);
        shape[leading.length] = rows;
        shape[leading.length + 1] = columns;
        return shape;
    }

    @Test
    void shapesAndTypesThatDoNotFitAreRefusedWithTheirNames() {
        try (OneDnnContext context = new OneDnnContext()) {
            INDArray left = Nd4j.ones(2, 3);
            for (INDArray right :
                    new INDArray[] {Nd4j.ones(2, 3), Nd4j.ones(DataType.DOUBLE, 3, 4), Nd4j.ones(1, 3, 4), Nd4j.ones(3)
                    }) {
                String message = assertThrows(IllegalArgumentException.class, () -> context.products()
                                .multiply(left, right, Nd4j.zeros(2, 4)))
                        .getMessage();
                assertTrue(message.startsWith("No product of FLOAT [2, 3] and " + right.dataType()), message);
            }
        }
    }
}
