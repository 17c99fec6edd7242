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

    private final long length;

    private FlatFloats(INDArray owner, long length) {
        this.owner = owner;
        this.length = length;
    }

    /** Returns the numbers of an array; empty if they are of another type, or scattered. */
    public static Optional<FlatFloats> of(INDArray array) {
        boolean flat = !array.isEmpty() && array.dataType() == DataType.FLOAT && isWithoutGaps(array);
        return flat ? Optional.of(new FlatFloats(array, array.length())) : Optional.empty();
    }

    /** Returns the numbers of arrays; empty if those of one array are of another type, or scattered. */
    static Optional<List<FlatFloats>> ofAll(List<INDArray> arrays) {
        List<FlatFloats> flat =
                arrays.stream().flatMap(array -> of(array).stream()).toList();
        return flat.size() == arrays.size() ? Optional.of(flat) : Optional.empty();
    }

    /**
     * Returns the memory of an array of two or four bytes a number, four bytes at a time, whatever the order of its
     * axes. Empty if the numbers are scattered, or if two bytes are left over.
     */
    static Optional<FlatFloats> words(INDArray array) {
        long bytes = array.length() * array.dataType().width();
        boolean whole = !array.isEmpty() && bytes % Float.BYTES == 0 && isWithoutGapsInAnyOrder(array);
        return whole ? Optional.of(new FlatFloats(array, bytes / Float.BYTES)) : Optional.empty();
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

    public long length() {
        return length;
    }

    /**
     * Returns some of the numbers, in place. They're valid as long as this is reachable, as it is during passes over
     * {@linkplain #sumAll ranges}.
     */
    public FloatBuffer range(long start, int size) {
        return bytes(start, size).asFloatBuffer();
    }

    /** Returns the bits of some of the numbers, in place. */
    public IntBuffer bits(long start, int size) {
        return bytes(start, size).asIntBuffer();
    }

    private ByteBuffer bytes(long start, int size) {
        long address = owner.data().pointer().address()
                + owner.offset() * owner.dataType().width();
        FloatPointer memory = new FloatPointer(new Memory(address));
        return memory.capacity(length).position(start).limit(start + size).asByteBuffer();
    }

    /** An address whose memory isn't freed here. */
    private static final class Memory extends Pointer {
        Memory(long address) {
            this.address = address;
        }
    }

    /** A number computed from a range of up to some hundred thousand numbers, from {@code start} on. */
    public interface RangeNumber {
        double of(long start, int size);
    }

    /** An operation on all numbers of a length, with a number for each of its ranges. */
    record Pass(long length, RangeNumber number) {
        private Stream<DoubleSupplier> pieces() {
            return LongStream.iterate(0, start -> start < length, start -> start + RANGE)
                    .mapToObj(start -> () -> number.of(start, (int) Math.min(RANGE, length - start)));
        }
    }

    /** Runs passes over different numbers, in any order, and returns the sum of their ranges' numbers. */
    static double sumAll(List<Pass> passes) {
        return run(passes).sum();
    }

    /** Returns the sum of a number for each range of a length. */
    public static double sumOfRanges(long length, RangeNumber number) {
        return sumAll(List.of(new Pass(length, number)));
    }

    /** Returns the largest of a number for each range of a length, NaN if one of them is. */
    static double maxOfRanges(long length, RangeNumber number) {
        if (length > RANGE) {
            return run(List.of(new Pass(length, number))).max().orElseThrow();
        }
        // Without streams, which take longer than to read a small image.
        try {
            return number.of(0, (int) length);
        } finally {
            Reference.reachabilityFence(number);
        }
    }

    /**
     * Runs passes, and returns the numbers of their ranges: in one order, whatever thread takes which. A thread that
     * completes a range takes the next one of any pass.
     */
    private static DoubleStream run(List<Pass> passes) {
        try {
            boolean isOneRange = passes.size() == 1 && passes.get(0).length <= RANGE;
            if (isOneRange || passes.stream().mapToLong(Pass::length).sum() <= ALONE) {
                return DoubleStream.of(passes.stream()
                        .mapToDouble(pass -> pass.number.of(0, (int) pass.length))
                        .toArray());
            }
            List<DoubleSupplier> pieces = passes.stream().flatMap(Pass::pieces).toList();
            double[] results = new double[pieces.size()];
            AtomicInteger taken = new AtomicInteger();
            IntStream.range(0, THREADS).parallel().forEach(thread -> {
                for (int i = taken.getAndIncrement(); i < results.length; i = taken.getAndIncrement()) {
                    results[i] = pieces.get(i).getAsDouble();
                }
            });
            return DoubleStream.of(results);
        } finally {
            Reference.reachabilityFence(passes);
        }
    }
}
