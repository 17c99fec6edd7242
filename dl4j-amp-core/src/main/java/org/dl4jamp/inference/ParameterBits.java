package org.dl4jamp.inference;

import java.nio.IntBuffer;
import java.util.Optional;
import org.dl4jamp.engine.host.FlatFloats;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** The bits of a layer's FP32 parameters: read where they are if that's in the host's memory, else by ND4J. */
abstract class ParameterBits {
    private static final int CHUNK = 256;
    /** What a chunk's numbers are multiplied by: odd, so that no change of a single number leaves a checksum as it is. */
    private static final int[] FACTORS = factors();

    private static final int NEXT_CHUNK = 0x9E3779B1;

    private final int[] chunk = new int[CHUNK];

    private static int[] factors() {
        int[] factors = new int[CHUNK];
        int factor = 1;
        for (int i = 0; i < CHUNK; i++) {
            factors[i] = factor;
            factor *= 0x01000193;
        }
        return factors;
    }

    static ParameterBits of(INDArray parameters) {
        Optional<FlatFloats> flat = Nd4j.getEnvironment().isCPU() ? FlatFloats.of(parameters) : Optional.empty();
        return flat.isPresent() ? new OnHost(flat.get()) : new ThroughNd4j(parameters);
    }

    /** Some of the numbers, which may be read only until the next call. */
    abstract IntBuffer range(long start, int size);

    /** Numbers at ascending positions. */
    final void read(long[] positions, int[] values) {
        Window window = new Window();
        for (int i = 0; i < positions.length; i++) {
            values[i] = window.at(positions[i]);
        }
    }

    /** Whether the numbers at ascending positions are these. */
    final boolean are(long[] positions, int[] values) {
        Window window = new Window();
        for (int i = 0; i < positions.length; i++) {
            if (window.at(positions[i]) != values[i]) {
                return false;
            }
        }
        return true;
    }

    /** A checksum of a range, which no change of a single number leaves as it is. */
    final int sum(long start, long size) {
        int sum = 0;
        for (long done = 0; done < size; done += Window.LONGEST) {
            IntBuffer numbers = range(start + done, (int) Math.min(Window.LONGEST, size - done));
            while (numbers.hasRemaining()) {
                int count = Math.min(CHUNK, numbers.remaining());
                numbers.get(chunk, 0, count);
                sum = sum * NEXT_CHUNK + weighted(chunk, count);
            }
        }
        return sum;
    }

    private static int weighted(int[] numbers, int count) {
        int sum = 0;
        for (int i = 0; i < count; i++) {
            sum += numbers[i] * FACTORS[i];
        }
        return sum;
    }

    abstract long length();

    /** The part of the numbers in which one is looked up. */
    private final class Window {
        static final int LONGEST = 1 << 24;

        private long start;
        private IntBuffer numbers = IntBuffer.allocate(0);

        int at(long position) {
            if (position < start || position >= start + numbers.limit()) {
                start = position;
                numbers = range(position, (int) Math.min(LONGEST, length() - position));
            }
            return numbers.get((int) (position - start));
        }
    }

    private static final class OnHost extends ParameterBits {
        private final FlatFloats numbers;
        /** As many of the first ones as a window has: to make a buffer of memory is a call of native code, of which a pass would have two for each layer. */
        private final IntBuffer first;

        OnHost(FlatFloats numbers) {
            this.numbers = numbers;
            first = numbers.bits(0, (int) Math.min(Window.LONGEST, numbers.length()));
        }

        @Override
        IntBuffer range(long start, int size) {
            return start + size <= first.limit() ? first.slice((int) start, size) : numbers.bits(start, size);
        }

        @Override
        long length() {
            return numbers.length();
        }
    }

    private static final class ThroughNd4j extends ParameterBits {
        private final INDArray numbers;

        ThroughNd4j(INDArray parameters) {
            this.numbers = parameters;
        }

        @Override
        IntBuffer range(long start, int size) {
            // Each time: it's a copy where the numbers are scattered.
            float[] values = numbers.reshape(numbers.length())
                    .get(NDArrayIndex.interval(start, start + size))
                    .castTo(DataType.FLOAT)
                    .toFloatVector();
            IntBuffer bits = IntBuffer.allocate(size);
            for (float value : values) {
                bits.put(Float.floatToRawIntBits(value));
            }
            return bits.flip();
        }

        @Override
        long length() {
            return numbers.length();
        }
    }
}
