package org.dl4jamp.onednn.primitive;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ToLongFunction;
import org.bytedeco.dnnl.IntMemoryMap;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Handle;

/** The kernels of {@link TiledRuns}, with buffers of their own, and memory of a tile between two of them. */
final class TiledKernels implements AutoCloseable {
    /** A kernel of a tile. Source of the first and result of the last one are bound for each tile. */
    private record Part(Kernel kernel, IntMemoryMap arguments, memory source, memory result) {
        void run() {
            kernel.run(arguments);
        }

        void close() {
            arguments.releaseReference();
            source.releaseReference();
            result.releaseReference();
        }
    }

    private static final LongAdder TILES = new LongAdder();

    private final ToLongFunction<Tape.Argument> addresses;
    private final long count;
    private final long length;
    private final Map<Long, List<Part>> parts = new HashMap<>();
    private final List<memory> kept = new ArrayList<>();
    private final AlignedMemory[] between = {new AlignedMemory(), new AlignedMemory()};
    private final Handle handle = new Handle();
    private final long inputBytes;
    private final long outputBytes;

    /** @param addresses returns the memory of an argument that isn't between two kernels */
    TiledKernels(TiledRuns tiled, ToLongFunction<Tape.Argument> addresses) {
        this.addresses = addresses;
        count = tiled.count();
        length = tiled.tile();
        List<Tape.Run> runs = tiled.runs();
        inputBytes = runs.get(0).kernel().rows().orElseThrow().inputBytes();
        outputBytes = runs.get(runs.size() - 1).kernel().rows().orElseThrow().outputBytes();
        for (AlignedMemory memory : between) {
            memory.reserve(tiled.bytesBetween());
        }
        for (long start = 0; start < count; start += length) {
            parts.computeIfAbsent(size(start), rows -> parts(runs, rows));
        }
    }

    /** Returns how many tiles were computed in this process. */
    static long tiles() {
        return TILES.sum();
    }

    /** Returns the rows of a tile. */
    private long size(long start) {
        return Math.min(length, count - start);
    }

    private List<Part> parts(List<Tape.Run> runs, long rows) {
        List<Part> all = new ArrayList<>();
        for (int i = 0; i < runs.size(); i++) {
            all.add(part(runs.get(i), rows, between[(i + 1) % 2], between[i % 2]));
        }
        return all;
    }

    private Part part(Tape.Run run, long rows, AlignedMemory from, AlignedMemory to) {
        Kernel kernel = run.kernel().rows().orElseThrow().kernel(rows).orElseThrow();
        IntMemoryMap arguments = new IntMemoryMap().retainReference();
        memory source = bound(kernel, arguments, dnnl.DNNL_ARG_SRC, from.address());
        memory result = bound(kernel, arguments, dnnl.DNNL_ARG_DST, to.address());
        for (Tape.Argument argument : run.arguments()) {
            int index = argument.index();
            if (index == dnnl.DNNL_ARG_WEIGHTS || index == dnnl.DNNL_ARG_BIAS) {
                kept.add(bound(kernel, arguments, index, addresses.applyAsLong(argument)));
            }
        }
        kernel.scratchpad().ifPresent(address -> kept.add(bound(kernel, arguments, dnnl.DNNL_ARG_SCRATCHPAD, address)));
        return new Part(kernel, arguments, source, result);
    }

    private memory bound(Kernel kernel, IntMemoryMap arguments, int index, long address) {
        memory buffer = kernel.buffer(index);
        buffer.set_data_handle(handle.at(address));
        arguments.put(index, buffer);
        return buffer;
    }

    /** Runs all tiles. The addresses are those of the first row. */
    void run(long input, long output) {
        for (long start = 0; start < count; start += length) {
            List<Part> tile = parts.get(size(start));
            tile.get(0).source().set_data_handle(handle.at(input + start * inputBytes));
            tile.get(tile.size() - 1).result().set_data_handle(handle.at(output + start * outputBytes));
            tile.forEach(Part::run);
            TILES.increment();
        }
    }

    @Override
    public void close() {
        parts.values().forEach(all -> all.forEach(Part::close));
        kept.forEach(memory::releaseReference);
        for (AlignedMemory memory : between) {
            memory.close();
        }
    }
}
