package org.dl4jamp.onednn.host;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The contiguous numbers of an FP32 array, for loops in Java. Such a loop copies chunks into arrays that fit into the
 * CPU's first cache, and back. The compiler vectorizes loops over arrays only.
 */
public final class FlatFloats {
    /**
     * Numbers in a copied chunk. HotSpot's copies of 4 KB and more are slower: 15 instead of 11 ms for three times 25
     * million numbers.
     */
    public static final int CHUNK = 256;

    /**
     * The longest range. Each takes new arrays: with shorter ones a step of 25 million parameters would leave 15 MB of
     * garbage.
     */
    private static final int RANGE = 1024 * CHUNK;

    /** The length that a single thread completes before another one wakes up. */
    private static final int ALONE = 512 * CHUNK;

    private static final int THREADS = ForkJoinPool.getCommonPoolParallelism() + 1;

    /** Keeps the memory: ND4J frees that of an array as soon as nothing refers to the array. */
    private final INDArray owner;

    private final long address;
    private final long length;

    private FlatFloats(INDArray owner, long address, long length) {
        this.owner = owner;
        this.address = address;
        this.length = length;
    }

    /** Returns the numbers of an array; empty if they are of another type, or scattered. */
    public static Optional<FlatFloats> of(INDArray array) {
        boolean flat = !array.isEmpty() && array.dataType() == DataType.FLOAT && isWithoutGaps(array);
        return flat ? Optional.of(new FlatFloats(array, address(array), array.length())) : Optional.empty();
    }

    /**
     * Returns the memory of an array of two or four bytes a number, four bytes at a time, whatever the order of its
     * axes there; empty if the numbers are scattered, or there's half of a four left.
     */
    static Optional<FlatFloats> words(INDArray array) {
        long bytes = array.length() * array.dataType().width();
        boolean whole = !array.isEmpty() && bytes % Float.BYTES == 0 && isWithoutGapsInAnyOrder(array);
        return whole ? Optional.of(new FlatFloats(array, address(array), bytes / Float.BYTES)) : Optional.empty();
    }

    private static boolean isWithoutGaps(INDArray array) {
        long stride = 1;
        for (int axis = array.rank() - 1; axis >= 0; axis--) {
            if (array.size(axis) > 1 && array.stride(axis) != stride) {
                return false;
            }
            stride *= array.size(axis);
        }
        return true;
    }

    private static boolean isWithoutGapsInAnyOrder(INDArray array) {
        long stride = 1;
        while (stride < array.length()) {
            long next = sizeOfAxis(array, stride);
            if (next == 1) {
                return false;
            }
            stride *= next;
        }
        return true;
    }

    /** Returns the size of the axis that has a stride, 1 if there is none. */
    private static long sizeOfAxis(INDArray array, long stride) {
        for (int axis = 0; axis < array.rank(); axis++) {
            if (array.size(axis) > 1 && array.stride(axis) == stride) {
                return array.size(axis);
            }
        }
        return 1;
    }

    private static long address(INDArray array) {
        return array.data().pointer().address()
                + array.offset() * array.dataType().width();
    }

    /** Returns the address of the first number. */
    long address() {
        return address;
    }

    /** Returns some of the numbers, however many. */
    FlatFloats part(long start, long size) {
        return new FlatFloats(owner, address + start * Float.BYTES, size);
    }

    public long length() {
        return length;
    }

    /**
     * Returns some of the numbers, in place. They're valid as long as this is reachable, as it is during passes over
     * {@linkplain #allRanges ranges}.
     */
    public FloatBuffer range(long start, int size) {
        return bytes(start, size).asFloatBuffer();
    }

    /** Returns the bits of some of the numbers, in place. */
    public IntBuffer bits(long start, int size) {
        return bytes(start, size).asIntBuffer();
    }

    private ByteBuffer bytes(long start, int size) {
        FloatPointer memory = new FloatPointer(new Memory(address));
        return memory.capacity(length).position(start).limit(start + size).asByteBuffer();
    }

    /** An address whose memory isn't freed here. */
    private static final class Memory extends Pointer {
        Memory(long address) {
            this.address = address;
        }
    }

    /** An operation on a range of up to some hundred thousand numbers, from {@code start} on. */
    interface RangeTask {
        void run(long start, int size);
    }

    /** A predicate of a range. */
    interface RangeQuestion {
        boolean test(long start, int size);
    }

    /** A number computed from a range. */
    public interface RangeNumber {
        double of(long start, int size);
    }

    /** An operation on all numbers of a length. */
    record Pass(long length, RangeTask task) {
        private Sum asSum() {
            return new Sum(length, (start, size) -> {
                task.run(start, size);
                return 0;
            });
        }
    }

    /**
     * Runs passes over different numbers, in any order. A thread that completes a range takes the next one of any pass.
     */
    static void runAll(List<Pass> passes) {
        sumAll(passes.stream().map(Pass::asSum).toList());
    }

    /** A number computed from all numbers of a length: the sum over its ranges. */
    record Sum(long length, RangeNumber number) {
        private Stream<DoubleSupplier> pieces() {
            return LongStream.iterate(0, start -> start < length, start -> start + RANGE)
                    .mapToObj(start -> () -> number.of(start, (int) Math.min(RANGE, length - start)));
        }
    }

    /** Returns the sum of sums over different numbers, the same whatever thread takes which range. */
    static double sumAll(List<Sum> sums) {
        try {
            return sumEach(sums);
        } finally {
            Reference.reachabilityFence(sums);
        }
    }

    private static double sumEach(List<Sum> sums) {
        if (sums.stream().mapToLong(Sum::length).sum() <= ALONE) {
            return sums.stream()
                    .mapToDouble(sum -> sum.number.of(0, (int) sum.length))
                    .sum();
        }
        List<DoubleSupplier> pieces = sums.stream().flatMap(Sum::pieces).toList();
        double[] results = new double[pieces.size()];
        AtomicInteger taken = new AtomicInteger();
        IntStream.range(0, THREADS).parallel().forEach(thread -> {
            for (int i = taken.getAndIncrement(); i < results.length; i = taken.getAndIncrement()) {
                results[i] = pieces.get(i).getAsDouble();
            }
        });
        return DoubleStream.of(results).sum();
    }

    /** Returns whether the predicate holds for all ranges of a length. */
    static boolean allRanges(long length, RangeQuestion question) {
        Ranges ranges = Ranges.of(length);
        try {
            return ranges.numbers().allMatch(i -> question.test(ranges.start(i), ranges.size(i)));
        } finally {
            Reference.reachabilityFence(question);
        }
    }

    /** Returns the sum of a number for each range of a length. */
    public static double sumOfRanges(long length, RangeNumber number) {
        Ranges ranges = Ranges.of(length);
        try {
            return ranges.numbers()
                    .mapToDouble(i -> number.of(ranges.start(i), ranges.size(i)))
                    .sum();
        } finally {
            Reference.reachabilityFence(number);
        }
    }

    /** Returns the largest of a number for each range of a length, NaN if one of them is. */
    static double maxOfRanges(long length, RangeNumber number) {
        Ranges ranges = Ranges.of(length);
        try {
            return ranges.numbers()
                    .mapToDouble(i -> number.of(ranges.start(i), ranges.size(i)))
                    .max()
                    .orElseThrow();
        } finally {
            Reference.reachabilityFence(number);
        }
    }

    /** A length in ranges of whole chunks, the same number for each thread. */
    private record Ranges(long length, int count, int range) {
        static Ranges of(long length) {
            if (length <= ALONE) {
                return new Ranges(length, 1, ALONE);
            }
            long rounds = (length + (long) RANGE * THREADS - 1) / ((long) RANGE * THREADS);
            long chunks = (length + CHUNK - 1) / CHUNK;
            int range = CHUNK * (int) ((chunks + rounds * THREADS - 1) / (rounds * THREADS));
            return new Ranges(length, (int) ((length + range - 1) / range), range);
        }

        IntStream numbers() {
            IntStream all = IntStream.range(0, count);
            return count > 1 ? all.parallel() : all;
        }

        long start(int number) {
            return (long) number * range;
        }

        int size(int number) {
            return (int) Math.min(range, length - start(number));
        }
    }
}
