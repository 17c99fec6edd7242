package org.dl4jamp.onednn.vertex;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.conf.graph.PoolHelperVertex;
import org.deeplearning4j.nn.conf.graph.StackVertex;
import org.deeplearning4j.nn.conf.graph.UnstackVertex;
import org.deeplearning4j.nn.conf.graph.rnn.DuplicateToTimeSeriesVertex;
import org.deeplearning4j.nn.conf.graph.rnn.LastTimeStepVertex;
import org.deeplearning4j.nn.conf.graph.rnn.ReverseTimeSeriesVertex;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.vertex.VertexCheck.Order;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Vertices that move numbers, against DL4J's own on the same numbers. */
class MovingVerticesTest {
    private static final String IN = "in";

    private static long[] shape(int rank, int minibatch, int channels, int third) {
        return Arrays.copyOf(new long[] {minibatch, channels, third, 3}, rank);
    }

    @Property
    void stacksExamples(
            @ForAll long seed,
            @ForAll Order order,
            @ForAll @IntRange(min = 1, max = 4) int count,
            @ForAll @IntRange(min = 2, max = 4) int rank,
            @ForAll @IntRange(min = 1, max = 5) int channels) {
        Random random = new Random(seed);
        INDArray[] inputs = new INDArray[count];
        Arrays.setAll(inputs, i -> gaussian(random, 1, shape(rank, 3, channels, 4)));
        new VertexCheck(VertexCheck.graph(3)).agrees(new StackVertex(), random, order, inputs);
    }

    @Property
    void stacksSequencesOfSeveralLengths(
            @ForAll long seed,
            @ForAll Order order,
            @ForAll @IntRange(min = 1, max = 5) int first,
            @ForAll @IntRange(min = 1, max = 5) int second) {
        Random random = new Random(seed);
        new VertexCheck(VertexCheck.graph(2))
                .agrees(
                        new StackVertex(),
                        random,
                        order,
                        gaussian(random, 1, 2, 3, first),
                        gaussian(random, 1, 2, 3, second),
                        gaussian(random, 1, 2, 3, first));
    }

    @Property
    void takesExamplesApart(
            @ForAll long seed,
            @ForAll Order order,
            @ForAll @IntRange(min = 1, max = 4) int count,
            @ForAll @IntRange(min = 2, max = 4) int rank,
            @ForAll @IntRange(max = 2) int rest) {
        Random random = new Random(seed);
        INDArray whole = gaussian(random, 1, shape(rank, 2 * count + rest % count, 5, 4));
        new VertexCheck(VertexCheck.graph(2))
                .agrees(new UnstackVertex((int) Math.floorMod(seed, (long) count), count), random, order, whole);
    }

    /** Square images: of others DL4J's gradient has a wrong shape. */
    @Property
    void dropsTheFirstRowAndColumn(
            @ForAll long seed,
            @ForAll boolean channelsLast,
            @ForAll @IntRange(min = 1, max = 9) int channels,
            @ForAll @IntRange(min = 2, max = 6) int size) {
        Random random = new Random(seed);
        new VertexCheck(VertexCheck.graph(2))
                .agrees(new PoolHelperVertex(), random, channelsLast, gaussian(random, 1, 2, channels, size, size));
    }

    @Test
    void dropsTheFirstRowAndColumnOfImagesThatArentSquare() {
        Random random = new Random(5);
        INDArray input = gaussian(random, 1, 2, 3, 4, 6);
        INDArray expected = Nd4j.create(DataType.FLOAT, 2, 3, 3, 5);
        INDArray epsilon = gaussian(random, 1, 2, 3, 3, 5);
        INDArray gradient = Nd4j.zeros(DataType.FLOAT, 2, 3, 4, 6);
        for (int row = 0; row < 3; row++) {
            for (int column = 0; column < 5; column++) {
                for (int image = 0; image < 6; image++) {
                    int[] inner = {image / 3, image % 3, row, column};
                    int[] outer = {image / 3, image % 3, row + 1, column + 1};
                    expected.putScalar(inner, input.getDouble(outer));
                    gradient.putScalar(outer, epsilon.getDouble(inner));
                }
            }
        }
        new VertexCheck(VertexCheck.graph(2))
                .agrees(
                        new PoolHelperVertex(),
                        Order.CHANNELS_LAST,
                        expected,
                        epsilon,
                        new INDArray[] {gradient},
                        input);
    }

    /** A graph in the middle of a pass, with or without a mask. */
    private static ComputationGraph inPass(INDArray sequences, INDArray mask) {
        ComputationGraph graph = VertexCheck.graph((int) sequences.size(0));
        graph.init();
        graph.setInputs(sequences);
        if (mask != null) {
            graph.setLayerMaskArrays(new INDArray[] {mask}, null);
        }
        return graph;
    }

    /** Returns a mask without padding in front, in which each example has a time step at least. */
    private static INDArray mask(Random random, int minibatch, int steps, boolean gaps) {
        INDArray mask = Nd4j.zeros(DataType.FLOAT, minibatch, steps);
        for (int example = 0; example < minibatch; example++) {
            int length = 1 + random.nextInt(steps);
            for (int step = 0; step < length; step++) {
                boolean inside = step > 0 && step < length - 1;
                mask.putScalar(example, step, gaps && inside && random.nextBoolean() ? 0 : 1);
            }
        }
        return mask;
    }

    @Property
    void takesTheLastTimeStep(
            @ForAll long seed,
            @ForAll Order order,
            @ForAll boolean masked,
            @ForAll @IntRange(min = 1, max = 5) int size,
            @ForAll @IntRange(min = 1, max = 6) int steps) {
        Random random = new Random(seed);
        INDArray input = gaussian(random, 1, 3, size, steps);
        INDArray mask = masked ? mask(random, 3, steps, true) : null;
        new VertexCheck(inPass(input, mask)).agrees(new LastTimeStepVertex(IN), random, order, input);
    }

    /** DL4J takes the time step of which number times mask is largest. */
    @Test
    void takesTheTimeStepThatDl4jTakesOfAMaskOfOtherNumbers() {
        Random random = new Random(3);
        INDArray input = gaussian(random, 1, 4, 2, 4);
        INDArray mask =
                Nd4j.createFromArray(new float[][] {{1, 1, 3, 0.5f}, {0, 0, 0, 0}, {1, 6, 3, 2}, {-1, -1, -1, -1}});
        new VertexCheck(inPass(input, mask)).agrees(new LastTimeStepVertex(IN), random, Order.STEP_BY_STEP, input);
    }

    @Property
    void reversesTime(
            @ForAll long seed,
            @ForAll Order order,
            @ForAll boolean masked,
            @ForAll boolean named,
            @ForAll @IntRange(min = 1, max = 5) int size,
            @ForAll @IntRange(min = 1, max = 6) int steps) {
        Random random = new Random(seed);
        INDArray input = gaussian(random, 1, 3, size, steps);
        INDArray mask = masked ? mask(random, 3, steps, false) : null;
        new VertexCheck(inPass(input, mask))
                .agrees(named ? new ReverseTimeSeriesVertex(IN) : new ReverseTimeSeriesVertex(), random, order, input);
    }

    @Test
    void reversesTimeBetweenPadding() {
        INDArray input = gaussian(new Random(6), 1, 3, 2, 3);
        INDArray mask = Nd4j.createFromArray(new float[][] {{0, 1, 1}, {1, 1, 0}, {1, 0, 1}});
        new VertexCheck(inPass(input, mask))
                .agrees(new ReverseTimeSeriesVertex(IN), new Random(7), Order.STEP_BY_STEP, input);
    }

    @Property
    void repeatsVectorsOverTime(
            @ForAll long seed,
            @ForAll Order order,
            @ForAll @IntRange(min = 1, max = 20) int size,
            @ForAll @IntRange(min = 1, max = 6) int steps) {
        Random random = new Random(seed);
        new VertexCheck(inPass(gaussian(random, 1, 3, 2, steps), null))
                .agrees(new DuplicateToTimeSeriesVertex(IN), random, order, gaussian(random, 1, 3, size));
    }

    /** What DL4J refuses the twin refuses, too. */
    @Test
    void refusesAMaskOfAnotherLength() {
        INDArray input = gaussian(new Random(2), 1, 3, 2, 4);
        VertexCheck check = new VertexCheck(inPass(input, Nd4j.ones(DataType.FLOAT, 3, 5)));
        GraphVertex own = check.dl4j(new LastTimeStepVertex(IN), 1, DataType.FLOAT);
        own.setInputs(input);
        Class<? extends RuntimeException> expected = assertThrows(
                        RuntimeException.class, () -> own.doForward(true, LayerWorkspaceMgr.noWorkspaces()))
                .getClass();
        assertThrows(expected, () -> check.agrees(new LastTimeStepVertex(IN), new Random(1), Order.DENSE, input));
    }
}
