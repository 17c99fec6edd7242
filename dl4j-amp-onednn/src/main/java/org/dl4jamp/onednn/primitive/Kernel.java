package org.dl4jamp.onednn.primitive;

import java.util.HashMap;
import java.util.Map;
import org.bytedeco.dnnl.IntMemoryMap;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive;
import org.bytedeco.dnnl.primitive_desc_base;
import org.bytedeco.dnnl.reorder;
import org.bytedeco.javacpp.Pointer;
import org.dl4jamp.AmpException;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.onednn.array.Handle;
import org.dl4jamp.onednn.array.Workspaces;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A oneDNN primitive with its arguments, made once and run many times: {@code kernel.bind(argument, array).run()}. Survives the {@link
 * org.bytedeco.javacpp.PointerScope} in which it's made. What was made by a thread that OpenMP leaves {@linkplain Work alone} runs alone.
 */
public final class Kernel implements AutoCloseable {
    private final OneDnnContext context;
    private final String what;
    private final String kind;
    private final primitive compiled;
    private final IntMemoryMap arguments;
    private final Map<Integer, memory> memories = new HashMap<>();
    private final Handle handle = new Handle();
    private final boolean needsScratchpad;
    private final boolean alone = Work.threads() == 1;
    private boolean closed;

    /**
     * @param context where it runs
     * @param what layer, primitive and shapes, for error messages
     * @param description of the primitive
     * @param made the primitive
     */
    public Kernel(OneDnnContext context, String what, primitive_desc_base description, primitive made) {
        this.context = context;
        this.what = what;
        this.kind = made instanceof reorder ? WorkEvent.COPY : WorkEvent.PRIMITIVE;
        this.compiled = made.retainReference();
        this.arguments = new IntMemoryMap().retainReference();
        memory.desc scratchpad = description.scratchpad_desc();
        this.needsScratchpad = scratchpad.get_size() > 0;
        if (needsScratchpad) {
            context.scratchpad().reserve(scratchpad.get_size());
            argument(dnnl.DNNL_ARG_SCRATCHPAD, scratchpad);
        }
    }

    /** Declares an argument that is bound to a buffer before each run. */
    public Kernel argument(int index, memory.desc description) {
        return argument(index, new memory(description, OneDnnLibrary.cpu(), (Pointer) null));
    }

    /** Declares an argument that is always in the same memory, which isn't this kernel's to free. */
    public Kernel argument(int index, memory held) {
        memories.put(index, held.retainReference());
        arguments.put(index, held);
        return this;
    }

    public Kernel bind(int index, INDArray array) {
        return bind(index, Workspaces.address(array));
    }

    public Kernel bind(int index, long address) {
        requireOpen();
        memories.get(index).set_data_handle(handle.at(address));
        return this;
    }

    public void run() {
        requireOpen();
        if (needsScratchpad) {
            bind(dnnl.DNNL_ARG_SCRATCHPAD, context.scratchpad().address());
        }
        WorkEvent event = WorkEvent.begin(kind, what);
        if (alone) {
            executeAlone();
        } else {
            execute();
        }
        event.commit();
    }

    /** Whether no other thread takes part. */
    boolean runsAlone() {
        return alone;
    }

    private void executeAlone() {
        int threads = Work.threads();
        Work.setThreads(1);
        try {
            execute();
        } finally {
            Work.setThreads(threads);
        }
    }

    private void execute() {
        try {
            compiled.execute(context.stream(), arguments);
        } catch (RuntimeException e) {
            throw new AmpException("oneDNN can't run " + what + ": " + e.getMessage(), e);
        }
    }

    /** What oneDNN is given of a primitive that was freed is a crash of the process. */
    private void requireOpen() {
        if (closed) {
            throw new AmpException(what + " is closed, as is the mixed precision that it belongs to");
        }
    }

    @Override
    public void close() {
        closed = true;
        arguments.releaseReference();
        memories.values().forEach(Pointer::releaseReference);
        memories.clear();
        compiled.releaseReference();
    }
}
