package org.dl4jamp.onednn.host;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.IntRange;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.onednn.Agreement;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.schedule.ExponentialSchedule;
import org.nd4j.linalg.schedule.ScheduleType;

class HostStepKernelsTest {
    private final StepKernels kernels = new HostStepKernels(StepKernels.nd4j());

    private void update(GradientUpdater<?> updater, INDArray gradient, int divisor, int iteration) {
        kernels.applyAll(List.of(new StepKernels.Update(updater, gradient, divisor, iteration, 0)));
    }

    private void update(GradientUpdater<?> updater, INDArray gradient, int iteration) {
        update(updater, gradient, 1, iteration);
    }

    private void updateInEpoch2(GradientUpdater<?> updater, INDArray gradient) {
        kernels.applyAll(List.of(new StepKernels.Update(updater, gradient, 1, 3, 2)));
    }

    @Property(tries = 60)
    void findsAnInfinityOrNanWhereverItIs(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 200_000) int length,
            @ForAll @IntRange(max = 5) int offset) {
        Random random = new Random(seed);
        INDArray whole = Nd4j.rand(DataType.FLOAT, length + offset + 1).subi(0.5);
        INDArray view = whole.get(NDArrayIndex.interval(offset, offset + length));
        whole.putScalar(offset + length, Float.NaN);
        view.putScalar(random.nextInt(length), -Float.MAX_VALUE);
        view.putScalar(random.nextInt(length), Float.MAX_VALUE);
        assertTrue(kernels.allFinite(view));
        float[] bad = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY};
        view.putScalar(random.nextInt(length), bad[random.nextInt(3)]);
        assertEquals(false, kernels.allFinite(view));
    }

    private static double norm2(List<INDArray> arrays) {
        double squares = 0;
        for (INDArray array : arrays) {
            double norm = array.castTo(DataType.DOUBLE).norm2Number().doubleValue();
            squares += norm * norm;
        }
        return Math.sqrt(squares);
    }

    private static List<INDArray> views(INDArray whole) {
        long middle = whole.length() / 3;
        return List.of(
                whole.get(NDArrayIndex.interval(1, middle)),
                whole.get(NDArrayIndex.interval(middle + 5, whole.length())));
    }

    @Property(tries = 40)
    void theNormIsThatOfDoublePrecisionAndFiniteIfAllNumbersAre(
            @ForAll long seed,
            @ForAll @IntRange(min = 20, max = 400_000) int length,
            @ForAll @IntRange(min = -35, max = 35) int exponent) {
        Nd4j.getRandom().setSeed(seed);
        List<INDArray> arrays = views(Nd4j.randn(DataType.FLOAT, length).muli(Math.pow(10, exponent)));
        double expected = norm2(arrays);
        for (StepKernels each : List.of(kernels, StepKernels.nd4j())) {
            assertEquals(expected, each.norm2(arrays), 2e-6 * expected, each.toString());
        }
        Random random = new Random(seed);
        INDArray one = arrays.get(random.nextInt(2));
        one.putScalar(random.nextInt((int) one.length()), random.nextBoolean() ? Float.NaN : Float.NEGATIVE_INFINITY);
        for (StepKernels each : List.of(kernels, StepKernels.nd4j())) {
            assertFalse(Double.isFinite(each.norm2(arrays)), each.toString());
        }
    }

    @Property(tries = 40)
    void movingAndAddingGivesTheSumsOfNd4jBitForBit(
            @ForAll long seed, @ForAll @IntRange(min = 20, max = 400_000) int length) {
        Nd4j.getRandom().setSeed(seed);
        INDArray[] g = {
            Nd4j.randn(DataType.FLOAT, length), Nd4j.randn(DataType.FLOAT, length), Nd4j.randn(DataType.FLOAT, length)
        };
        INDArray expected = g[0].add(g[1]).addi(g[2]);
        INDArray sum = Nd4j.valueArrayOf(new long[] {length}, Float.NaN, DataType.FLOAT);
        assertTrue(kernels.move(views(g[0]), views(sum), true));
        assertTrue(kernels.move(views(g[1]), views(sum), false));
        assertEquals(0, norm2(views(g[0])) + norm2(views(g[1])));
        double norm = kernels.add(views(sum), views(g[2]));
        assertEquals(views(expected), views(g[2]));
        assertEquals(norm2(views(expected)), norm, 2e-6 * norm);
        views(g[2]).get(1).putScalar(3, Float.POSITIVE_INFINITY);
        assertFalse(kernels.move(views(g[2]), views(sum), new Random(seed).nextBoolean()));
        assertTrue(Double.isInfinite(views(sum).get(1).getDouble(3)));
    }

    @Test
    void checksScatteredArraysToo() {
        INDArray column = Nd4j.rand(DataType.FLOAT, 40, 3).getColumn(1);
        assertTrue(kernels.allFinite(column));
        column.putScalar(7, Float.NaN);
        assertEquals(false, kernels.allFinite(column));
    }

    @Property(tries = 20)
    void adamAgreesWithNd4jsAndWithDoublePrecision(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 80_000) int length,
            @ForAll @DoubleRange(min = 0.01, max = 1) double learningRate,
            @ForAll @DoubleRange(min = 0.5, max = 0.99) double beta1,
            @ForAll @IntRange(max = 3) int decimals) {
        Adam adam = new Adam(learningRate, beta1, 0.999, Math.pow(10, -8 + decimals));
        INDArray nd4jState = Nd4j.zeros(DataType.FLOAT, 1, 2L * length);
        INDArray ourState = nd4jState.dup();
        GradientUpdater<?> nd4j = adam.instantiate(nd4jState, false);
        GradientUpdater<?> ours = adam.instantiate(ourState, false);
        assertTrue(kernels.isOnePass(ours));
        Random random = new Random(seed);
        double[] m = new double[length];
        double[] v = new double[length];
        double[] magnitude = new double[length];
        for (int iteration : new int[] {0, 1, 2, 50}) {
            INDArray gradient = Nd4j.create(DataType.FLOAT, length);
            for (int i = 0; i < length; i++) {
                gradient.putScalar(i, (float) (random.nextGaussian() * Math.exp(random.nextGaussian() * 3)));
            }
            double[] g = gradient.data().asDouble();
            INDArray nd4jUpdate = gradient.dup();
            INDArray ourUpdate = gradient.dup();
            nd4j.applyUpdater(nd4jUpdate, iteration, 0);
            update(ours, ourUpdate, iteration);
            float[] expected = nd4jUpdate.data().asFloat();
            float[] actual = ourUpdate.data().asFloat();
            double rate = learningRate
                    * Math.sqrt(1 - Math.pow(0.999, iteration + 1.0))
                    / (1 - Math.pow(beta1, iteration + 1.0));
            for (int i = 0; i < length; i++) {
                magnitude[i] = beta1 * magnitude[i] + (1 - beta1) * Math.abs(g[i]);
                m[i] = beta1 * m[i] + (1 - beta1) * g[i];
                v[i] = 0.999 * v[i] + (1 - 0.999) * g[i] * g[i];
                double divisor = Math.sqrt(v[i]) + adam.getEpsilon();
                double bound = rate * magnitude[i] / divisor;
                assertEquals(expected[i], actual[i], 1e-6 * bound, "update " + i);
                // FP32's 0.999 is off by 1.3e-8, and its powers by 3e-8: several 1e-5 of 1 - 0.999.
                assertEquals(rate * m[i] / divisor, actual[i], 1e-4 * bound, "update " + i);
            }
        }
        Agreement.assertWithin("state", nd4jState, ourState, 1e-6);
    }

    @Test
    void adamFollowsTheScheduleOfItsLearningRate() {
        Adam adam = Adam.builder()
                .learningRateSchedule(new ExponentialSchedule(ScheduleType.EPOCH, 0.1, 0.5))
                .build();
        INDArray gradient = Nd4j.rand(DataType.FLOAT, 100);
        INDArray expected = gradient.dup();
        adam.instantiate(Nd4j.zeros(DataType.FLOAT, 1, 200), false).applyUpdater(expected, 3, 2);
        updateInEpoch2(adam.instantiate(Nd4j.zeros(DataType.FLOAT, 1, 200), false), gradient);
        Agreement.assertWithin("update", expected, gradient, 1e-6);
    }

    @Property(tries = 30)
    void momentumAgreesWithNd4jsAndWithDoublePrecision(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 80_000) int length,
            @ForAll @DoubleRange(min = 0.01, max = 1) double learningRate,
            @ForAll @DoubleRange(max = 0.99) double momentum,
            @ForAll @IntRange(min = 1, max = 300) int examples) {
        Nesterovs nesterovs = new Nesterovs(learningRate, momentum);
        INDArray nd4jState = Nd4j.zeros(DataType.FLOAT, 1, length);
        INDArray ourState = nd4jState.dup();
        GradientUpdater<?> nd4j = nesterovs.instantiate(nd4jState, false);
        GradientUpdater<?> ours = nesterovs.instantiate(ourState, false);
        assertTrue(kernels.isOnePass(ours));
        Random random = new Random(seed);
        double[] v = new double[length];
        double[] magnitude = new double[length];
        for (int iteration = 0; iteration < 3; iteration++) {
            INDArray gradient = gaussian(random, 3, length);
            double[] g = gradient.data().asDouble();
            INDArray nd4jUpdate = gradient.div(examples);
            INDArray ourUpdate = gradient.dup();
            nd4j.applyUpdater(nd4jUpdate, iteration, 0);
            update(ours, ourUpdate, examples, iteration);
            float[] expected = nd4jUpdate.data().asFloat();
            float[] actual = ourUpdate.data().asFloat();
            for (int i = 0; i < length; i++) {
                double before = momentum * v[i];
                magnitude[i] = momentum * magnitude[i] + learningRate * Math.abs(g[i]) / examples;
                v[i] = before - learningRate * g[i] / examples;
                double bound = 1e-6 * 3 * magnitude[i];
                assertEquals(expected[i], actual[i], bound, "update " + i);
                assertEquals(before - (1 + momentum) * v[i], actual[i], bound, "update " + i);
            }
        }
        Agreement.assertWithin("state", nd4jState, ourState, 1e-6);
    }

    @Test
    void momentumFollowsItsSchedules() {
        Nesterovs nesterovs = Nesterovs.builder()
                .learningRateSchedule(new ExponentialSchedule(ScheduleType.EPOCH, 0.1, 0.5))
                .momentumISchedule(new ExponentialSchedule(ScheduleType.ITERATION, 0.9, 0.9))
                .build();
        INDArray state = gaussian(new Random(4), 1, 1, 100);
        INDArray gradient = gaussian(new Random(5), 1, 100);
        INDArray expected = gradient.dup();
        nesterovs.instantiate(state.dup(), false).applyUpdater(expected, 3, 2);
        updateInEpoch2(nesterovs.instantiate(state.dup(), false), gradient);
        Agreement.assertWithin("update", expected, gradient, 1e-6);
    }

    @ParameterizedTest
    @MethodSource
    void dividesTheGradientsOfAnUpdateAndNoOthers(IUpdater conf) {
        INDArray state = gaussian(new Random(6), 1, 1, Math.max(1, conf.stateSize(90)))
                .muli(0.1)
                .addi(1);
        GradientUpdater<?> nd4j = conf.instantiate(conf.stateSize(90) == 0 ? null : state.dup(), false);
        GradientUpdater<?> ours = conf.instantiate(conf.stateSize(90) == 0 ? null : state.dup(), false);
        assertTrue(kernels.isOnePass(ours), conf.toString());
        for (int divisor : new int[] {7, 1}) {
            INDArray gradient = gaussian(new Random(divisor), 1, 90);
            INDArray expected = gradient.div(divisor);
            nd4j.applyUpdater(expected, 1, 0);
            update(ours, gradient, divisor, 1);
            Agreement.assertWithin("update by " + divisor, expected, gradient, 1e-6);
        }
        INDArray scattered = gaussian(new Random(8), 1, 90, 3).getColumn(1);
        INDArray expected = scattered.div(5);
        nd4j.applyUpdater(expected, 2, 0);
        update(ours, scattered, 5, 2);
        Agreement.assertWithin("scattered update", expected, scattered, 1e-6);
    }

    static Stream<IUpdater> dividesTheGradientsOfAnUpdateAndNoOthers() {
        return Stream.of(new Adam(0.1), new Nesterovs(0.1, 0.8), new Sgd(0.3), new NoOp());
    }

    @ParameterizedTest
    @MethodSource("dividesTheGradientsOfAnUpdateAndNoOthers")
    void subtractsTheUpdatesOfACallAndNoOthers(IUpdater conf) {
        for (int length : new int[] {1, 90, 1000, 300_001}) {
            INDArray state = gaussian(new Random(6), 1, 1, Math.max(1, conf.stateSize(length)))
                    .muli(0.1)
                    .addi(1);
            GradientUpdater<?> nd4j = conf.instantiate(conf.stateSize(length) == 0 ? null : state.dup(), false);
            GradientUpdater<?> ours = conf.instantiate(conf.stateSize(length) == 0 ? null : state.dup(), false);
            assertTrue(kernels.isOnePass(ours), conf.toString());
            INDArray gradient = gaussian(new Random(1), 1, length);
            INDArray update = gradient.div(4);
            nd4j.applyUpdater(update, 1, 0);
            update(ours, gradient, 4, 1);
            Agreement.assertWithin("update", update, gradient, 1e-6);
        }
    }

    @Test
    void takesGradientsThatAreScattered() {
        Adam adam = new Adam(0.1);
        INDArray gradient = Nd4j.rand(DataType.FLOAT, 40, 3).getColumn(1);
        INDArray expected = gradient.dup();
        adam.instantiate(Nd4j.zeros(DataType.FLOAT, 1, 80), false).applyUpdater(expected, 0, 0);
        update(adam.instantiate(Nd4j.zeros(DataType.FLOAT, 1, 80), false), gradient, 0);
        Agreement.assertWithin("update", expected, gradient, 1e-6);
    }

    @Test
    void leavesOtherUpdatersAlone() {
        GradientUpdater<?> rmsProp = new RmsProp(0.1).instantiate(Nd4j.zeros(DataType.FLOAT, 1, 3), true);
        assertFalse(kernels.isOnePass(rmsProp));
        assertFalse(kernels.isOnePass(null));
    }

    @Test
    void updatesAllAtOnceAsOneByOne() {
        List<IUpdater> confs =
                List.of(new Adam(0.1), new Nesterovs(0.1, 0.8), new RmsProp(0.1), new NoOp(), new Sgd(0.3));
        int[] lengths = {1, 300, 700_001, 64, 300_000};
        for (int from : new int[] {0, 3}) {
            List<StepKernels.Update> updates = new ArrayList<>();
            List<INDArray> expected = new ArrayList<>();
            for (int i = 0; i < 3 * lengths.length; i++) {
                IUpdater conf = confs.get(i / 3);
                // Few numbers in all the second time, for one thread.
                int length = from == 0 ? lengths[i % lengths.length] : 1 + i;
                INDArray state = conf.stateSize(length) == 0
                        ? null
                        : gaussian(new Random(i), 1, 1, conf.stateSize(length))
                                .muli(0.1)
                                .addi(1);
                INDArray gradient = gaussian(new Random(i), 1, length);
                INDArray update = gradient.div(1 + i);
                conf.instantiate(state == null ? null : state.dup(), false).applyUpdater(update, 2, 0);
                expected.add(update);
                updates.add(new StepKernels.Update(conf.instantiate(state, false), gradient, 1 + i, 2, 0));
            }
            kernels.applyAll(updates);
            for (int i = 0; i < updates.size(); i++) {
                Agreement.assertWithin(
                        "update " + i, expected.get(i), updates.get(i).gradients(), 1e-6);
            }
        }
    }
}
