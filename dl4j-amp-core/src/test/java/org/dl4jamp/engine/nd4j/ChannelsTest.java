package org.dl4jamp.engine.nd4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleBinaryOperator;
import java.util.stream.Stream;
import org.dl4jamp.Networks;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class ChannelsTest {
    private static final double TOLERANCE = 1e-5;

    /** Arrays drawn, each with a seed of its own. */
    private int drawn;

    /** Activations of one shape, and which axis has the channels. */
    record Shape(int channelAxis, List<Long> of) {
        Shape(int channelAxis, long... sizes) {
            this(channelAxis, Arrays.stream(sizes).boxed().toList());
        }

        long[] sizes() {
            return of.stream().mapToLong(size -> size).toArray();
        }
    }

    static Stream<Shape> shapes() {
        return Stream.of(
                new Shape(1, 4, 3),
                new Shape(1, 1, 3),
                new Shape(1, 4, 1),
                new Shape(1, 2, 3, 4, 5),
                new Shape(1, 1, 3, 4, 5),
                new Shape(1, 2, 1, 4, 5),
                new Shape(1, 2, 3, 1, 1),
                new Shape(1, 1, 1, 1, 1),
                new Shape(3, 2, 4, 5, 3),
                new Shape(3, 2, 1, 1, 3),
                new Shape(3, 2, 4, 5, 1));
    }

    private INDArray numbers(long... sizes) {
        return Networks.uniform(++drawn, sizes).muli(4).subi(1);
    }

    /** Returns the channel of each number, in the order of rows. */
    private static int[] channels(Shape shape) {
        int inner = 1;
        for (int axis = shape.channelAxis() + 1; axis < shape.sizes().length; axis++) {
            inner *= (int) shape.sizes()[axis];
        }
        int count = (int) shape.sizes()[shape.channelAxis()];
        int[] channels = new int[(int) Arrays.stream(shape.sizes()).reduce(1, (a, b) -> a * b)];
        for (int i = 0; i < channels.length; i++) {
            channels[i] = i / inner % count;
        }
        return channels;
    }

    private static void assertEach(
            Shape shape, float[] before, float[] perChannel, DoubleBinaryOperator expected, INDArray after) {
        float[] actual = after.ravel().toFloatVector();
        int[] channels = channels(shape);
        for (int i = 0; i < channels.length; i++) {
            assertEquals(expected.applyAsDouble(before[i], perChannel[channels[i]]), actual[i], TOLERANCE);
        }
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void eachNumberMeetsItsChannels(Shape shape) {
        INDArray array = numbers(shape.sizes());
        Channels channels = Channels.of(array, shape.channelAxis());
        INDArray perChannel = numbers(channels.channels());
        float[] numbers = perChannel.toFloatVector();

        float[] before = array.ravel().toFloatVector();
        channels.add(channels.matrix(array), perChannel);
        assertEach(shape, before, numbers, (a, b) -> a + b, array);

        before = array.ravel().toFloatVector();
        channels.multiply(channels.matrix(array), perChannel);
        assertEach(shape, before, numbers, (a, b) -> a * b, array);

        before = array.ravel().toFloatVector();
        INDArray result = Nd4j.createUninitialized(DataType.FLOAT, shape.sizes());
        channels.subtract(channels.matrix(array), perChannel, channels.matrix(result));
        assertEach(shape, before, numbers, (a, b) -> a - b, result);
        channels.subtract(channels.matrix(array), perChannel, channels.matrix(array));
        assertEach(shape, before, numbers, (a, b) -> a - b, array);
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void sumsAreOfChannels(Shape shape) {
        INDArray array = numbers(shape.sizes());
        Channels channels = Channels.of(array, shape.channelAxis());
        double[] sums = new double[(int) channels.channels()];
        double[] squares = new double[sums.length];
        float[] numbers = array.ravel().toFloatVector();
        int[] of = channels(shape);
        for (int i = 0; i < of.length; i++) {
            sums[of[i]] += numbers[i];
            squares[of[i]] += numbers[i] * numbers[i];
        }
        double[] actual = channels.sum(channels.matrix(array)).toDoubleVector();
        double[] actualSquares = channels.squares(channels.matrix(array)).toDoubleVector();
        assertEquals(sums.length, actual.length);
        for (int i = 0; i < sums.length; i++) {
            assertEquals(sums[i], actual[i], TOLERANCE * 100);
            assertEquals(squares[i], actualSquares[i], TOLERANCE * 100);
        }
        assertEquals(of.length / sums.length, channels.count());
    }
}
