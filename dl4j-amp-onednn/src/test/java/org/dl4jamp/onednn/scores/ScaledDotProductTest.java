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

    /** A result, and the sums of the magnitudes of its terms. */
    private record Sums(Result values, Result magnitudes) {
        static Sums of(Case given) {
            return new Sums(zeros(given), zeros(given));
        }

        private static Result zeros(Case given) {
            return new Result(
                    Nd4j.create(DataType.DOUBLE, given.queries().shape()),
                    Nd4j.create(DataType.DOUBLE, given.queries().shape()),
                    Nd4j.create(DataType.DOUBLE, given.rows().shape()));
        }

        private static void add(INDArray array, double summand, int... place) {
            array.putScalar(place, array.getDouble(place) + summand);
        }

        void addToOutput(double term, int... place) {
            add(values.output(), term, place);
            add(magnitudes.output(), Math.abs(term), place);
        }

        void addToQueryGradient(double term, double magnitude, int... place) {
            add(values.queryGradient(), term, place);
            add(magnitudes.queryGradient(), magnitude, place);
        }

        void addToRowGradient(double term, double magnitude, int... place) {
            add(values.rowGradient(), term, place);
            add(magnitudes.rowGradient(), magnitude, place);
        }
    }

    /** Computes in double precision. The gradient of a score is the difference of two sums, which may be equal. */
    private static Sums formula(Case given) {
        AttentionShape shape = given.shape();
        int d = (int) shape.headSize();
        int width = (int) (shape.heads() * shape.headSize());
        int keys = (int) shape.keys();
        Sums sums = Sums.of(given);
        for (int b = 0; b < shape.minibatch(); b++) {
            for (int h = 0; h < shape.heads(); h++) {
                for (int q = 0; q < shape.queries(); q++) {
                    double[] p = probabilities(given, b, h, q);
                    double[] dp = new double[keys];
                    double[] magnitude = new double[keys];
                    double mean = 0;
                    double meanMagnitude = 0;
                    for (int k = 0; k < keys; k++) {
                        for (int i = h * d; i < h * d + d; i++) {
                            double value = given.rows().getDouble(b, k, width + i);
                            double error = given.epsilon().getDouble(b, q, i);
                            sums.addToOutput(p[k] * value, b, q, i);
                            sums.addToRowGradient(p[k] * error, Math.abs(p[k] * error), b, k, width + i);
                            dp[k] += error * value;
                            magnitude[k] += Math.abs(error * value);
                        }
                        mean += p[k] * dp[k];
                        meanMagnitude += p[k] * magnitude[k];
                    }
                    for (int k = 0; k < keys; k++) {
                        double ds = p[k] * (dp[k] - mean) / Math.sqrt(d);
                        double most = p[k] * (magnitude[k] + meanMagnitude) / Math.sqrt(d);
                        for (int i = h * d; i < h * d + d; i++) {
                            double key = given.rows().getDouble(b, k, i);
                            double query = given.queries().getDouble(b, q, i);
                            sums.addToQueryGradient(ds * key, most * Math.abs(key), b, q, i);
                            sums.addToRowGradient(ds * query, most * Math.abs(query), b, k, i);
                        }
                    }
                }
            }
        }
        return sums;
    }

    private static double[] probabilities(Case given, int b, int h, int q) {
        int d = (int) given.shape().headSize();
        double[] p = new double[(int) given.shape().keys()];
        double largest = Double.NEGATIVE_INFINITY;
        for (int k = 0; k < p.length; k++) {
            for (int i = h * d; i < h * d + d; i++) {
                p[k] += given.queries().getDouble(b, q, i) * given.rows().getDouble(b, k, i);
            }
            p[k] = p[k] / Math.sqrt(d)
                    + (given.mask() == null ? 0 : given.mask().getDouble(b, k));
            largest = Math.max(largest, p[k]);
        }
        double sum = 0;
        for (int k = 0; k < p.length; k++) {
            p[k] = Math.exp(p[k] - largest);
            sum += p[k];
        }
        for (int k = 0; k < p.length; k++) {
            p[k] /= sum;
        }
        return p;
    }

    /**
     * In BFLOAT16 the probabilities, or the gradients of scores, are rounded where they enter products, and the sums
     * are rounded. Nothing else is: each number is off by two roundings of its terms' magnitudes at most, and by 1e-5
     * of them in FP32.
     */
    private static void agree(Sums expected, Result actual) {
        Result values = expected.values();
        Result magnitudes = expected.magnitudes();
        agree("output", values.output(), actual.output(), magnitudes.output());
        agree("queries", values.queryGradient(), actual.queryGradient(), magnitudes.queryGradient());
        agree("keys and values", values.rowGradient(), actual.rowGradient(), magnitudes.rowGradient());
    }

    private static void agree(String what, INDArray expected, INDArray actual, INDArray magnitudes) {
        double rounding = Agreement.rounding(actual.dataType());
        double bound = rounding * (2 + rounding) + 1e-5;
        INDArray computed = actual.castTo(DataType.DOUBLE);
        for (int b = 0; b < expected.size(0); b++) {
            for (int row = 0; row < expected.size(1); row++) {
                for (int i = 0; i < expected.size(2); i++) {
                    double difference = Math.abs(expected.getDouble(b, row, i) - computed.getDouble(b, row, i));
                    double most = bound * magnitudes.getDouble(b, row, i);
                    assertTrue(difference <= most + 1e-12, () -> what + ": " + difference + " > " + most);
                }
            }
        }
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
            agree(formula(given), run(given, scores));
            Case unmasked = unmasked(given);
            agree(formula(unmasked), run(unmasked, scores));
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
        agree(formula(given), run(given, 1000));
        Case unmasked = unmasked(given);
        agree(formula(unmasked), run(unmasked, 1000));
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
