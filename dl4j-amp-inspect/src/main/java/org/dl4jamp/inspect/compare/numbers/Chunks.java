package org.dl4jamp.inspect.compare.numbers;

import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** Reads arrays of any type and memory order in C order, some numbers at a time. */
final class Chunks {
    /** Numbers in a chunk, at most. */
    static final int SIZE = 1 << 20;

    private Chunks() {}

    static void forEach(INDArray array, Consumer<float[]> reader) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            INDArray flat = flat(array);
            for (long start = 0; start < flat.length(); start += SIZE) {
                reader.accept(chunk(flat, start));
            }
        }
    }

    /** Reads two arrays of the same number of elements side by side. */
    static void forEach(INDArray first, INDArray second, BiConsumer<float[], float[]> reader) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            INDArray a = flat(first);
            INDArray b = flat(second);
            for (long start = 0; start < a.length(); start += SIZE) {
                reader.accept(chunk(a, start), chunk(b, start));
            }
        }
    }

    private static INDArray flat(INDArray array) {
        return array.dup('c').reshape(array.length());
    }

    private static float[] chunk(INDArray flat, long start) {
        long end = Math.min(flat.length(), start + SIZE);
        return flat.get(NDArrayIndex.interval(start, end))
                .castTo(DataType.FLOAT)
                .dup()
                .data()
                .asFloat();
    }
}
