package org.dl4jamp.onednn.primitive;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import org.bytedeco.dnnl.IntMemoryMap;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.PassRecorder;
import org.dl4jamp.onednn.memory.ActivationMemory;
import org.dl4jamp.onednn.memory.Handle;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.MemoryRanges;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Workspaces;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Kernels that a {@link Tape} has noted, with buffers of their own, which are bound once. Numbers that were in DL4J's
 * workspaces are in memory of this object's, and only the network's input is bound again.
 */
final class RepeatedKernels implements PassRecorder.Recording {
    /** A buffer in the network's input. */
    private record InputPart(memory buffer, long offset) {}

    private final Tape tape;
    private final List<Runnable> steps = new ArrayList<>();
    private final List<memory> buffers = new ArrayList<>();
    private final List<IntMemoryMap> bound = new ArrayList<>();
    private final List<InputPart> parts = new ArrayList<>();
    private final Handle handle = new Handle();
    /** Keeps the memory. */
    private final List<Object> owners = new ArrayList<>();

    private final NavigableMap<Long, INDArray> own;
    private final Layout layout;
    /** The layout of the same numbers as rows. */
    private final Optional<Layout> rows;

    private final Place input;
    private final Optional<String> workspace;
    private final long changes;
    private final int threads = Work.threads();
    private final List<TiledKernels> tiles = new ArrayList<>();
    /** The address of the network's input. */
    private long given;

    private boolean closed;

    /**
     * @param noted what is to be repeated
     * @param read the results that are read after it
     * @param features the network's input in the pass that was noted
     * @param workspace that DL4J requires of the first layer's result; empty for none
     */
    RepeatedKernels(Tape tape, List<Tape.Run> noted, List<Place> read, INDArray features, Optional<String> workspace) {
        this.tape = tape;
        this.layout = Layout.of(features);
        this.rows = layout.asRows();
        this.input =
                new Place(null, Workspaces.address(features), Place.of(features).bytes());
        this.workspace = workspace;
        // Before addresses are taken: new kernels may move the scratchpad.
        List<Tape.Run> runs = SampledRuns.in(noted, read);
        // In a graph a layer behind the list may read
        // what is between two kernels of it; in a MultiLayerNetwork, which requires workspaces, only the next one does.
        Map<Integer, TiledRuns> tiled = workspace.isPresent() ? TiledRuns.in(runs) : Map.of();
        this.changes = tape.changes();
        this.own = ownMemory(runs);
        int index = 0;
        while (index < runs.size()) {
            TiledRuns tile = tiled.get(index);
            if (tile == null) {
                add(runs.get(index));
                index++;
            } else {
                add(tile);
                index += tile.runs().size();
            }
        }
    }

    /** Returns memory in place of that in workspaces, by the addresses at which the latter begins. */
    private static NavigableMap<Long, INDArray> ownMemory(List<Tape.Run> noted) {
        MemoryRanges ranges = new MemoryRanges();
        noted.stream()
                .flatMap(run -> run.arguments().stream())
                .filter(Tape.Argument::isInWorkspace)
                .forEach(argument -> ranges.add(argument.address(), argument.bytes()));
        NavigableMap<Long, INDArray> own = new TreeMap<>();
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            ranges.ends().forEach((begin, end) -> own.put(begin, Nd4j.createUninitialized(DataType.INT8, end - begin)));
        }
        return own;
    }

    private void add(Tape.Run run) {
        if (run.kernel() == null) {
            addParts(run);
            return;
        }
        IntMemoryMap arguments = new IntMemoryMap().retainReference();
        bound.add(arguments);
        run.arguments().forEach(argument -> arguments.put(argument.index(), buffer(run.kernel(), argument)));
        steps.add(() -> run.kernel().run(arguments));
    }

    private void addParts(Tape.Run run) {
        LongSupplier from = run.from().map(this::source).orElse(() -> 0);
        long to = address(run.to());
        steps.add(() -> run.parts().run(from.getAsLong(), to));
    }

    private void add(TiledRuns runs) {
        TiledKernels kernels = new TiledKernels(runs, this::address);
        tiles.add(kernels);
        LongSupplier from = source(runs.source());
        long output = address(runs.result());
        steps.add(() -> kernels.run(from.getAsLong(), output));
    }

    /** Returns the address of what is read, which may be in the network's input. */
    private LongSupplier source(Tape.Argument read) {
        if (read.isWithin(input)) {
            long offset = read.address() - input.address();
            return () -> given + offset;
        }
        long address = address(read);
        return () -> address;
    }

    private memory buffer(Kernel kernel, Tape.Argument argument) {
        memory buffer = kernel.buffer(argument.index());
        buffers.add(buffer);
        if (argument.isRead() && argument.isWithin(input)) {
            parts.add(new InputPart(buffer, argument.address() - input.address()));
        } else {
            boolean isScratchpad = argument.index() == dnnl.DNNL_ARG_SCRATCHPAD;
            buffer.set_data_handle(handle.at(isScratchpad ? kernel.scratchpad().orElseThrow() : address(argument)));
        }
        return buffer;
    }

    private long address(Tape.Argument argument) {
        if (argument.isInWorkspace()) {
            long begin = own.floorKey(argument.address());
            return Workspaces.address(own.get(begin)) + argument.address() - begin;
        }
        owners.add(argument.owner());
        return argument.address();
    }

    @Override
    public boolean repeat(INDArray features, LayerWorkspaceMgr workspaceMgr) {
        return ActivationMemory.closesEarly(workspaceMgr)
                && ActivationMemory.required(workspaceMgr).equals(workspace)
                && repeat(features, false);
    }

    @Override
    public boolean repeat(INDArray features, boolean takesRows) {
        boolean isAsNoted = !closed
                && changes == tape.changes()
                && threads == Work.threads()
                && (layout.isThatOf(features)
                        || (takesRows
                                && rows.filter(of -> of.isThatOf(features)).isPresent()));
        if (!isAsNoted) {
            return false;
        }
        this.given = Workspaces.address(features);
        parts.forEach(part -> part.buffer().set_data_handle(handle.at(given + part.offset())));
        try {
            steps.forEach(Runnable::run);
        } finally {
            Reference.reachabilityFence(features);
            Reference.reachabilityFence(this);
        }
        return true;
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            tape.forget(this);
            bound.forEach(IntMemoryMap::releaseReference);
            buffers.forEach(memory::releaseReference);
            tiles.forEach(TiledKernels::close);
            owners.clear();
            own.clear();
        }
    }
}
