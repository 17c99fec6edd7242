package org.dl4jamp.onednn.twin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** oneDNN stores large results past the cache, and crashes where these don't begin at a cache line. */
class RepetitionKernelsTest {
    private static final int CACHE_LINE = 64;

    private final OneDnnContext context = new OneDnnContext();

    @AfterEach
    void close() {
        context.close();
    }

    /** The first is larger than the cache of many processors. */
    @ParameterizedTest
    @CsvSource({
        "FLOAT, FLOAT, 8, 64, 56, 16",
        "FLOAT, FLOAT, 3, 48, 32, 0",
        "FLOAT, FLOAT, 3, 48, 32, 4",
        "FLOAT, FLOAT, 2, 5, 7, 16",
        "FLOAT, BFLOAT16, 3, 64, 32, 16",
        "BFLOAT16, BFLOAT16, 3, 64, 32, 2",
    })
    void repetitionNeedsNoAlignment(
            DataType coarseType, DataType fineType, int minibatch, int channels, int side, int misalignment) {
        Assumptions.assumeTrue(
                fineType == DataType.FLOAT || Types.halfPrecision() == Precision.BFLOAT16, "no BFLOAT16 on this CPU");
        Layout coarse = Layout.channelsLast(coarseType, minibatch, channels, side, side);
        Layout fine = Layout.channelsLast(fineType, minibatch, channels, 2L * side, 3L * side);
        float[] small = numbers(coarse.length());
        INDArray from = at(0, coarse, minibatch, channels, side, side);
        from.data().setData(small);
        INDArray to = at(misalignment, fine, minibatch, channels, 2L * side, 3L * side);
        try (RepetitionKernels kernels = RepetitionKernels.make(context, "layer \"up\"", coarse, fine)) {
            kernels.repeat(from, to);
            kernels.repeat(from, to);
        }
        float[] large = to.data().asFloat();
        assertEquals(fine.length(), large.length);
        int place = 0;
        for (int example = 0; example < minibatch; example++) {
            for (int row = 0; row < 2 * side; row++) {
                for (int column = 0; column < 3 * side; column++) {
                    int start = ((example * side + row / 2) * side + column / 3) * channels;
                    for (int channel = 0; channel < channels; channel++) {
                        if (large[place] != small[start + channel]) {
                            assertEquals(small[start + channel], large[place], "number " + place);
                        }
                        place++;
                    }
                }
            }
        }
    }

    /** Returns numbers that BFLOAT16 has, too. */
    private static float[] numbers(long length) {
        Random random = new Random(1);
        float[] numbers = new float[(int) length];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = random.nextInt(256);
        }
        return numbers;
    }

    /** Returns an array of channels-last images that begins some bytes behind a cache line. */
    private static INDArray at(int misalignment, Layout layout, long... shape) {
        int width = layout.type().width();
        INDArray room = Nd4j.createUninitialized(layout.type(), layout.length() + 2 * CACHE_LINE / width);
        long first = Workspaces.address(room);
        long wanted = (first + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE + misalignment;
        DataBuffer numbers = Nd4j.createBuffer(room.data(), (wanted - first) / width, layout.length());
        long[] strides = {shape[1] * shape[2] * shape[3], 1, shape[1] * shape[3], shape[1]};
        INDArray array = Nd4j.create(numbers, shape, strides, 0, 'c');
        assertEquals(misalignment, Workspaces.address(array) % CACHE_LINE);
        return array;
    }
}
