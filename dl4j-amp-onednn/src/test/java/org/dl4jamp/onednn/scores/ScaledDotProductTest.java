package org.dl4jamp.onednn.scores;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.scores.AttentionShape.Strides;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** The attention of heads, in blocks of any size, against the formula in double precision. */
class ScaledDotProductTest {
    /** Rows of keys and values: the keys of all heads, then the values, as one product makes them. */
    private record Case(AttentionShape shape, INDArray queries, INDArray rows, INDArray mask, INDArray epsilon) {
        static Case of(DataType type, Random random, long minibatch, long heads, long headSize, long q, long k) {
            long width = heads * headSize;
            AttentionShape shape = new AttentionShape(
                    type,
                    type,
                    1,
                    minibatch,
                    heads,
                    headSize,
                    q,
                    k,
                    Strides.dense(width, q),
                    Strides.dense(2 * width, k),
                    Strides.dense(width, q));
            INDArray mask = Nd4j.zeros(DataType.FLOAT, minibatch, k);
            for (long i = 0; i < k; i += 3) {
                mask.putScalar(random.nextInt((int) minibatch), i, -1e9);
            }
            return new Case(
                    shape,
                    gaussian(random, 1, minibatch, q, width),
                    gaussian(random, 1, minibatch, k, 2 * width),
                    mask,
                    gaussian(random, 1, minibatch, q, width));
        }
    }

    private static Case unmasked(Case given) {
        return new Case(given.shape(), given.queries(), given.rows(), null, given.epsilon());
    }

    private record Result(INDArray output, INDArray queryGradient, INDArray rowGradient) {}

    private static Result run(Case given, long scores) {
        DataType type = given.shape().type();
        INDArray queries = given.queries().castTo(type);
        INDArray rows = given.rows().castTo(type);
        long width = given.shape().heads() * given.shape().headSize();
        ScaledDotProduct.Operands operands = new ScaledDotProduct.Operands(
                Slab.of(queries),
                Slab.of(rows),
                Slab.of(rows).plus(width),
                given.mask() == null ? null : Slab.of(given.mask()));
        INDArray output = Nd4j.create(type, queries.shape());
        INDArray queryGradient = Nd4j.create(type, queries.shape());
        INDArray rowGradient = Nd4j.create(type, rows.shape());
        try (OneDnnContext context = new OneDnnContext();
                ScaledDotProduct attention = new ScaledDotProduct(context, "test", given.shape(), scores)) {
            attention.forward(operands, Slab.of(output));
            attention.backward(
                    operands,
                    Slab.of(given.epsilon().castTo(type)),
                    new ScaledDotProduct.Gradients(
                            Slab.of(queryGradient),
                            Slab.of(rowGradient),
                            Slab.of(rowGradient).plus(width)));
        }
        return new Result(output, queryGradient, rowGradient);
    }

    private static Result formula(Case given) {
        AttentionShape shape = given.shape();
        int d = (int) shape.headSize();
        int width = (int) (shape.heads() * shape.headSize());
        int keys = (int) shape.keys();
        INDArray output = Nd4j.create(DataType.DOUBLE, given.queries().shape());
        INDArray queryGradient = Nd4j.create(DataType.DOUBLE, given.queries().shape());
        INDArray rowGradient = Nd4j.create(DataType.DOUBLE, given.rows().shape());
        for (int b = 0; b < shape.minibatch(); b++) {
            for (int h = 0; h < shape.heads(); h++) {
                for (int q = 0; q < shape.queries(); q++) {
                    double[] p = new double[keys];
                    double largest = Double.NEGATIVE_INFINITY;
                    for (int k = 0; k < keys; k++) {
                        for (int i = h * d; i < h * d + d; i++) {
                            p[k] += given.queries().getDouble(b, q, i)
                                    * given.rows().getDouble(b, k, i);
                        }
                        p[k] = p[k] / Math.sqrt(d)
                                + (given.mask() == null ? 0 : given.mask().getDouble(b, k));
                        largest = Math.max(largest, p[k]);
                    }
                    double sum = 0;
                    for (int k = 0; k < keys; k++) {
                        p[k] = Math.exp(p[k] - largest);
                        sum += p[k];
                    }
                    double[] dp = new double[keys];
                    double mean = 0;
                    for (int k = 0; k < keys; k++) {
                        p[k] /= sum;
                        for (int i = h * d; i < h * d + d; i++) {
                            double value = given.rows().getDouble(b, k, width + i);
                            double error = given.epsilon().getDouble(b, q, i);
                            add(output, p[k] * value, b, q, i);
                            add(rowGradient, p[k] * error, b, k, width + i);
                            dp[k] += error * value;
                        }
                        mean += p[k] * dp[k];
                    }
                    for (int k = 0; k < keys; k++) {
                        double ds = p[k] * (dp[k] - mean) / Math.sqrt(d);
                        for (int i = h * d; i < h * d + d; i++) {
                            add(queryGradient, ds * given.rows().getDouble(b, k, i), b, q, i);
                            add(rowGradient, ds * given.queries().getDouble(b, q, i), b, k, i);
                        }
                    }
                }
            }
        }
        return new Result(output, queryGradient, rowGradient);
    }

    private static void add(INDArray array, double summand, int... place) {
        array.putScalar(place, array.getDouble(place) + summand);
    }

    /** Gradients of queries and keys are sums of few rounded numbers that nearly cancel. */
    private static double bound(DataType type) {
        return 8 * Agreement.rounding(type) + 1e-4;
    }

    private static void agree(Result expected, Result actual, double bound) {
        Agreement.assertWithin("output", expected.output(), actual.output(), bound);
        Agreement.assertWithin("queries", expected.queryGradient(), actual.queryGradient(), bound);
        Agreement.assertWithin("keys and values", expected.rowGradient(), actual.rowGradient(), bound);
    }

    @Property(tries = 30)
    void blocksOfAnySizeGiveTheFormulasNumbers(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 3) int minibatch,
            @ForAll @IntRange(min = 1, max = 5) int heads,
            @ForAll @IntRange(min = 1, max = 9) int headSize,
            @ForAll @IntRange(min = 1, max = 70) int queries,
            @ForAll @IntRange(min = 2, max = 40) int keys,
            @ForAll @IntRange(min = 1, max = 5000) int scores) {
        for (DataType type : Types.here()) {
            Case given = Case.of(type, new Random(seed), minibatch, heads, headSize, queries, keys);
            agree(formula(given), run(given, scores), bound(type));
            Case unmasked = unmasked(given);
            agree(formula(unmasked), run(unmasked, scores), bound(type));
        }
    }

    /** oneDNN 3.11 mistakes the strides of some products with several examples, several heads and single rows. */
    @Property(tries = 200)
    void tinySizesGiveTheFormulasNumbers(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 4) int minibatch,
            @ForAll @IntRange(min = 1, max = 3) int heads,
            @ForAll @IntRange(min = 1, max = 3) int headSize,
            @ForAll @IntRange(min = 1, max = 3) int queries,
            @ForAll @IntRange(min = 1, max = 4) int keys) {
        Case given = Case.of(DataType.FLOAT, new Random(seed), minibatch, heads, headSize, queries, keys);
        agree(formula(given), run(given, 1000), bound(DataType.FLOAT));
        Case unmasked = unmasked(given);
        agree(formula(unmasked), run(unmasked, 1000), bound(DataType.FLOAT));
    }

    @Test
    void manyBlocksAndOneGiveTheSameNumbers() {
        for (DataType type : Types.here()) {
            Case given = Case.of(type, new Random(1), 3, 3, 16, 100, 120);
            Result whole = run(given, 1L << 20);
            for (long scores : new long[] {120 * 32, 120 * 100, 120 * 100 * 2, 120 * 100 * 4}) {
                agree(whole, run(given, scores), 0.25 * Agreement.rounding(type) + 1e-6);
            }
        }
    }

    @Test
    void blocksCoverAllScoresOnceAndStayWithinTheirLimit() {
        for (long limit : new long[] {1, 4096, 100_000, 1_000_000}) {
            for (int threads = 1; threads <= 4; threads++) {
                AttentionShape shape = new AttentionShape(
                        DataType.FLOAT,
                        DataType.FLOAT,
                        1,
                        5,
                        6,
                        8,
                        200,
                        100,
                        Strides.dense(48, 200),
                        Strides.dense(48, 100),
                        Strides.dense(48, 200));
                ScoreBlock.Size largest = ScoreBlock.largest(shape, limit, threads);
                List<ScoreBlock> blocks = ScoreBlock.all(shape, largest);
                assertEquals(
                        5 * 6 * 200 * 100L,
                        blocks.stream()
                                .mapToLong(block -> block.size().scores(100))
                                .sum());
                assertEquals(blocks.size(), blocks.stream().distinct().count());
                long least = 16L * 100 * threads;
                assertTrue(largest.scores(100) <= Math.max(limit, least), largest::toString);
            }
        }
    }
}
