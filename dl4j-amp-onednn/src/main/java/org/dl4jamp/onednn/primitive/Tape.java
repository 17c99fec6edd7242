package org.dl4jamp.onednn.primitive;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.WeakHashMap;
import org.bytedeco.dnnl.global.dnnl;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.PassRecorder;
import org.dl4jamp.onednn.memory.ActivationMemory;
import org.dl4jamp.onednn.memory.Gather;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.MemoryRanges;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Notes the kernels of a pass with their arguments, so that they can run again.
 *
 * <p>What is noted counts as far as each kernel reads nothing but the input, what kernels before it have written, and
 * numbers that stay, such as weights. Memory that is written in another way, by ND4J for example, isn't known, and what
 * reads it ends the list.
 *
 * <p>To be used by one thread at a time.
 */
public final class Tape implements PassRecorder, AutoCloseable {
    /**
     * An argument of a kernel.
     *
     * @param owner keeps the memory; null if that stays anyway
     * @param hasGaps whether the memory may have other numbers between those of the argument
     */
    record Argument(int index, Object owner, long address, long bytes, boolean hasGaps) {
        /** Arguments of post-operations have the number of the argument in their lower bits. */
        private int role() {
            return index % dnnl.DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE;
        }

        boolean isRead() {
            return role() >= dnnl.DNNL_ARG_SRC_0 && role() < dnnl.DNNL_ARG_DST_0;
        }

        boolean isWritten() {
            return role() >= dnnl.DNNL_ARG_DST_0 && role() < dnnl.DNNL_ARG_WEIGHTS_0;
        }

        boolean isWithin(Place place) {
            return address >= place.address() && address + bytes <= place.address() + place.bytes();
        }

        boolean isInWorkspace() {
            return owner instanceof INDArray array && ActivationMemory.isInWorkspace(array);
        }
    }

    /**
     * Something that has run: a kernel or parts of memory that were put together. The other one is null.
     *
     * @param arguments of parts, those that are read, if any, and the memory that is written
     */
    record Run(Kernel kernel, Gather parts, List<Argument> arguments) {
        private Optional<Argument> argument(int index) {
            return arguments.stream().filter(of -> of.index() == index).findFirst();
        }

        /** Returns what is read first; empty for zeros. */
        Optional<Argument> from() {
            return argument(dnnl.DNNL_ARG_FROM);
        }

        /** Returns what is written first. */
        Argument to() {
            return argument(dnnl.DNNL_ARG_TO).orElseThrow();
        }
    }

    private final OneDnnContext context;
    /** Those of threads that have ended are freed as soon as nothing refers to them. */
    private final Set<RepeatedKernels> made = Collections.newSetFromMap(new WeakHashMap<>());

    private List<Run> runs = List.of();
    private MemoryRanges written = new MemoryRanges();
    private Thread thread;
    private INDArray input;
    private Place place;
    private Optional<String> workspace = Optional.empty();
    private boolean isComplete;
    private int covered;
    private long changes;
    private long changesBefore;

    Tape(OneDnnContext context) {
        this.context = context;
    }

    /** Takes note that a kernel was made or closed. Memory that kernels share is moved for new kernels only. */
    void changed() {
        changes++;
    }

    /** Returns how often a kernel was made or closed. */
    long changes() {
        return changes;
    }

    void forget(RepeatedKernels repeated) {
        made.remove(repeated);
    }

    boolean isNoting() {
        return thread == Thread.currentThread();
    }

    @Override
    public boolean isHandedOn(LayerWorkspaceMgr workspaceMgr) {
        return ActivationMemory.closesEarly(workspaceMgr);
    }

    @Override
    public boolean begin(INDArray given, LayerWorkspaceMgr workspaceMgr) {
        boolean isFree = thread == null || thread == Thread.currentThread() || !thread.isAlive();
        if (!isFree || !isHandedOn(workspaceMgr) || !Layout.isReadable(given)) {
            return false;
        }
        thread = Thread.currentThread();
        input = given;
        place = Place.of(given);
        workspace = ActivationMemory.required(workspaceMgr);
        runs = new ArrayList<>();
        written = new MemoryRanges();
        isComplete = true;
        covered = 0;
        changesBefore = changes;
        return true;
    }

    /** Fills an array that is contiguous in memory with zeros. */
    public void clear(INDArray array) {
        Place to = Place.of(array);
        gather(new Gather("zeros around an array").zeros(to.bytes()), to, to);
    }

    /**
     * Puts parts of memory together.
     *
     * @param to memory of at least {@link Gather#writes} bytes
     * @throws AmpException if there is less memory than is read
     */
    public void gather(Gather parts, Place from, Place to) {
        if (from.bytes() < parts.reads()) {
            throw new AmpException(parts + " reads " + parts.reads() + " bytes, and was given " + from.bytes()
                    + ": an array has another shape than the layer's other arrays");
        }
        try {
            parts.run(from.address(), to.address());
        } finally {
            Reference.reachabilityFence(from);
            Reference.reachabilityFence(to);
        }
        if (isNoting()) {
            List<Argument> arguments = new ArrayList<>();
            if (parts.reads() > 0) {
                arguments.add(new Argument(dnnl.DNNL_ARG_FROM, from.owner(), from.address(), parts.reads(), true));
            }
            arguments.add(new Argument(dnnl.DNNL_ARG_TO, to.owner(), to.address(), parts.writes(), false));
            ran(new Run(null, parts, arguments));
        }
    }

    /** Takes note of a kernel that has run. */
    void ran(Kernel kernel, List<Argument> arguments) {
        ran(new Run(kernel, null, arguments));
    }

    private void ran(Run run) {
        List<Argument> arguments = run.arguments();
        isComplete &= arguments.stream()
                .filter(Argument::isRead)
                .allMatch(
                        argument -> argument.isWithin(place) || written.contain(argument.address(), argument.bytes()));
        arguments.stream()
                .filter(Argument::isWritten)
                .forEach(argument -> written.add(argument.address(), argument.bytes()));
        runs.add(run);
    }

    @Override
    public boolean covers(INDArray result) {
        Place of = Place.of(result);
        boolean covers = isComplete
                && isNoting()
                && context.activationMemory().holds(result)
                && written.contain(of.address(), of.bytes());
        covered = covers ? runs.size() : covered;
        return covers;
    }

    @Override
    public boolean areSame(INDArray one, INDArray other) {
        return Workspaces.address(one) == Workspaces.address(other)
                && Layout.of(one).isThatOf(other);
    }

    @Override
    public Optional<Recording> end(List<INDArray> read) {
        boolean isAsBefore = isNoting() && changes == changesBefore;
        Optional<Recording> recording = Optional.empty();
        if (isAsBefore && covered > 0) {
            RepeatedKernels repeated = new RepeatedKernels(
                    this, runs.subList(0, covered), read.stream().map(Place::of).toList(), input, workspace);
            made.add(repeated);
            recording = Optional.of(repeated);
        }
        cancel();
        return recording;
    }

    @Override
    public void cancel() {
        if (isNoting()) {
            thread = null;
            input = null;
            place = null;
            runs = List.of();
        }
    }

    /** Frees what was noted. */
    @Override
    public void close() {
        List.copyOf(made).forEach(RepeatedKernels::close);
        thread = null;
        runs = List.of();
    }
}
