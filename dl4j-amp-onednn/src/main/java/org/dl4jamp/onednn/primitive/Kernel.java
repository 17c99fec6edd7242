package org.dl4jamp.onednn.primitive;

import java.lang.ref.Reference;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.bytedeco.dnnl.IntMemoryMap;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive;
import org.bytedeco.dnnl.primitive_desc_base;
import org.bytedeco.dnnl.reorder;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.onednn.memory.Extent;
import org.dl4jamp.onednn.memory.Handle;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A oneDNN primitive with its arguments, made once and run many times: {@code kernel.bind(argument, array).run()}.
 * Survives the {@link org.bytedeco.javacpp.PointerScope} in which it's made. What was made by a thread that OpenMP
 * leaves {@linkplain Work alone} runs alone.
 */
public final class Kernel implements AutoCloseable {
    private final OneDnnContext context;
    private final String what;
    private final String kind;
    private final primitive compiled;
    private final IntMemoryMap arguments;
    private final Map<Integer, Argument> buffers = new HashMap<>();
    private final Handle handle = new Handle();
    private final boolean needsScratchpad;
    private final boolean readsOutput;
    private final boolean alone = Work.threads() == 1;
    private Optional<Rows> rows = Optional.empty();
    private Optional<Positions> positions = Optional.empty();
    private boolean closed;

    /**
     * The rows of a kernel that computes each row of its output from the same row of its input. A row has the channels
     * of a pixel, for example, or the numbers of an example.
     */
    public interface Rows {
        /** Returns how many there are. */
        long count();

        /** Returns the bytes of a row of the input. */
        long inputBytes();

        /** Returns the bytes of a row of the output. */
        long outputBytes();

        /**
         * Returns the kernel of fewer rows, which reads the same copies of weights. The kernel of all rows closes it.
         *
         * @return empty if oneDNN would read the weights in another order
         */
        Optional<Kernel> kernel(long rows);
    }

    /** A buffer of the primitive. */
    private static final class Argument {
        private final memory buffer;
        private final long bytes;
        private final boolean hasGaps;
        /** Keeps the memory of the buffer until the primitive has returned. */
        private Object owner;

        Argument(memory buffer, Extent extent) {
            this.buffer = buffer;
            this.bytes = extent.bytes();
            this.hasGaps = extent.hasGaps();
        }
    }

    /** @param what layer, primitive and shapes, for error messages */
    public Kernel(OneDnnContext context, String what, primitive_desc_base description) {
        context.beforeKernel();
        context.tape().changed();
        this.context = context;
        this.what = what;
        this.kind = description instanceof reorder.primitive_desc ? WorkEvent.COPY : WorkEvent.PRIMITIVE;
        this.compiled = new primitive(description.get()).retainReference();
        this.arguments = new IntMemoryMap().retainReference();
        this.readsOutput = isSum(description.get_primitive_attr().get_post_ops());
        memory.desc scratchpad = description.scratchpad_desc();
        this.needsScratchpad = scratchpad.get_size() > 0;
        if (needsScratchpad) {
            context.scratchpad().reserve(scratchpad.get_size());
        }
    }

    private static boolean isSum(post_ops operations) {
        return IntStream.range(0, operations.len())
                .anyMatch(index -> operations.kind(index).value == primitive.kind.sum.value);
    }

    private memory.desc description(int index) {
        return new primitive_desc_base(compiled.get_dnnl_primitive_desc(), true)
                .query_md(dnnl.query.exec_arg_md, index);
    }

    /** Returns whether the primitive has an argument, which depends on oneDNN's implementation of it. */
    public boolean takes(int index) {
        try (PointerScope temporary = new PointerScope()) {
            return description(index).get_size() > 0;
        }
    }

    /** Returns the bytes of an argument, from its first to its last number. */
    long bytes(int index) {
        try (PointerScope temporary = new PointerScope()) {
            return Extent.of(description(index)).bytes();
        }
    }

    /** Makes the buffer of an argument, at its first use, as the primitive describes it. */
    private Argument argument(int index) {
        try (PointerScope temporary = new PointerScope()) {
            memory.desc description = description(index);
            if (description.get_size() == 0) {
                throw new IllegalArgumentException(what + " has no argument " + index);
            }
            memory buffer = buffer(index);
            arguments.put(index, buffer);
            Argument argument = new Argument(buffer, Extent.of(description));
            buffers.put(index, argument);
            return argument;
        }
    }

    public Kernel bind(int index, INDArray array) {
        return bind(index, Place.of(array));
    }

    public Kernel bind(int index, Slab part) {
        return bind(index, part.place());
    }

    /**
     * Binds a buffer for the next run.
     *
     * @throws AmpException if there is less memory than the primitive reads or writes
     */
    public Kernel bind(int index, Place place) {
        requireOpen();
        Argument known = buffers.get(index);
        Argument argument = known == null ? argument(index) : known;
        if (place.bytes() < argument.bytes) {
            throw new AmpException(
                    what + " takes " + argument.bytes + " bytes as its argument " + index + ", and was given "
                            + place.bytes() + ": an array has another shape than the layer's other arrays");
        }
        argument.owner = place.owner();
        argument.buffer.set_data_handle(handle.at(place.address()));
        return this;
    }

    /** Runs one of {@link Copies}. */
    public void copy(Place from, Place to) {
        bind(dnnl.DNNL_ARG_FROM, from).bind(dnnl.DNNL_ARG_TO, to).run();
    }

    /** Runs it. The bound arguments are kept until it has returned, and not longer. */
    public void run() {
        requireOpen();
        if (needsScratchpad) {
            bind(dnnl.DNNL_ARG_SCRATCHPAD, Place.kept(context.scratchpad().address()));
        }
        try {
            run(arguments);
            if (context.tape().isNoting()) {
                context.tape().ran(this, noted());
            }
        } finally {
            buffers.values().forEach(argument -> argument.owner = null);
        }
    }

    private List<Tape.Argument> noted() {
        return buffers.entrySet().stream()
                .map(bound -> new Tape.Argument(
                        bound.getKey(),
                        bound.getValue().owner,
                        bound.getValue().buffer.get_data_handle().address(),
                        bound.getValue().bytes,
                        bound.getValue().hasGaps))
                .toList();
    }

    /** Runs it with other arguments than those bound. */
    void run(IntMemoryMap with) {
        requireOpen();
        WorkEvent event = WorkEvent.begin(kind, what);
        try {
            if (alone) {
                executeAlone(with);
            } else {
                execute(with);
            }
        } finally {
            Reference.reachabilityFence(this);
        }
        event.commit();
    }

    /** Returns a buffer of its own for an argument, without memory. */
    memory buffer(int index) {
        try (PointerScope temporary = new PointerScope()) {
            return new memory(description(index), OneDnnLibrary.cpu(), (Pointer) null).retainReference();
        }
    }

    boolean runsAlone() {
        return alone;
    }

    /** Declares that it computes row by row, and reads nothing of what it writes. */
    public Kernel byRows(Rows itsRows) {
        rows = Optional.of(itsRows);
        return this;
    }

    /** Returns its rows, if it computes row by row. */
    Optional<Rows> rows() {
        return rows;
    }

    /** Returns whether it adds to what its output holds. */
    boolean readsOutput() {
        return readsOutput;
    }

    /** Declares what it computes at each position. */
    public Kernel at(Positions itsPositions) {
        positions = Optional.of(itsPositions);
        return this;
    }

    /** Returns what it computes at each position; empty if it isn't declared. */
    Optional<Positions> positions() {
        return positions;
    }

    /** Returns the address of its scratchpad, which is moved when kernels are made; empty if it needs none. */
    OptionalLong scratchpad() {
        return needsScratchpad ? OptionalLong.of(context.scratchpad().address()) : OptionalLong.empty();
    }

    private void executeAlone(IntMemoryMap with) {
        int threads = Work.threads();
        Work.setThreads(1);
        try {
            execute(with);
        } finally {
            Work.setThreads(threads);
        }
    }

    private void execute(IntMemoryMap with) {
        try {
            compiled.execute(context.stream(), with);
        } catch (RuntimeException e) {
            throw new AmpException("oneDNN can't run " + what + ": " + e.getMessage(), e);
        }
    }

    /** Passing a freed primitive to oneDNN crashes the process. */
    private void requireOpen() {
        if (closed) {
            throw new AmpException(what + " is closed, as is the mixed precision that it belongs to");
        }
    }

    @Override
    public void close() {
        closed = true;
        context.tape().changed();
        arguments.releaseReference();
        buffers.values().forEach(argument -> argument.buffer.releaseReference());
        buffers.clear();
        compiled.releaseReference();
    }
}
