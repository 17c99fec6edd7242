package org.dl4jamp.onednn;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Optional;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.FloatPointer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The numbers of an FP32 array that lie one after the other in memory, for loops in Java: these copy a chunk that fits into the CPU's first
 * cache into arrays, compute in vector instructions, which the compiler makes of loops over arrays only, and copy back.
 */
final class FlatFloats {
    /** How many numbers are copied at once: HotSpot's copies of 4 KB and more are slower (15 instead of 11 ms for three times 25 million). */
    static final int CHUNK = 256;

    /** A range takes new arrays: with shorter ones a step of 25 million parameters would leave 15 MB of garbage. */
    private static final int RANGE = 1024 * CHUNK;

    private final long address;
    private final long length;

    private FlatFloats(long address, long length) {
        this.address = address;
        this.length = length;
    }

    /** Those of an array; empty if they are of another type, or scattered. */
    static Optional<FlatFloats> of(INDArray array) {
        boolean flat =
                !array.isEmpty() && Layout.dense(DataType.FLOAT, array.shape()).isThatOf(array);
        return flat ? Optional.of(new FlatFloats(Workspaces.address(array), array.length())) : Optional.empty();
    }

    long length() {
        return length;
    }

    /** Some of the numbers, in place. */
    FloatBuffer range(long start, int size) {
        return bytes(start, size).asFloatBuffer();
    }

    /** The bits of some of the numbers, in place. */
    IntBuffer bits(long start, int size) {
        return bytes(start, size).asIntBuffer();
    }

    private ByteBuffer bytes(long start, int size) {
        FloatPointer memory = new FloatPointer(new Handle().at(address));
        return memory.capacity(length).position(start).limit(start + size).asByteBuffer();
    }

    /** Something that is done to a range of up to some hundred thousand numbers, from {@code start} on. */
    interface RangeTask {
        void run(long start, int size);
    }

    /** Something that is asked about a range. */
    interface RangeQuestion {
        boolean test(long start, int size);
    }

    /** Something that is computed of a range. */
    interface RangeNumber {
        double of(long start, int size);
    }

    /** Covers a length with ranges, of which several threads may take some if there are many. */
    static void forEachRange(long length, RangeTask task) {
        ranges(length).forEach(range -> task.run(start(range), size(range, length)));
    }

    /** Whether the answer is yes for all ranges of a length. */
    static boolean allRanges(long length, RangeQuestion question) {
        IntPredicate test = range -> question.test(start(range), size(range, length));
        return ranges(length).allMatch(test);
    }

    /** The sum of a number for each range of a length. */
    static double sumOfRanges(long length, RangeNumber number) {
        return ranges(length)
                .mapToDouble(range -> number.of(start(range), size(range, length)))
                .sum();
    }

    private static IntStream ranges(long length) {
        int ranges = (int) ((length + RANGE - 1) / RANGE);
        IntStream all = IntStream.range(0, ranges);
        return ranges > 1 ? all.parallel() : all;
    }

    private static long start(int range) {
        return (long) range * RANGE;
    }

    private static int size(int range, long length) {
        return (int) Math.min(RANGE, length - start(range));
    }
}
