package org.dl4jamp.benchmarks.tape;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.benchmarks.blueprint.Tensor;

/**
 * The memory of inference: weights, with one copy for all time steps, and activations, which overwrite those that
 * aren't read any more.
 */
public final class Memories {
    private final Tape tape;
    private final Map<String, memory> kept = new HashMap<>();
    private final Map<Long, Deque<memory>> free = new HashMap<>();

    /** @param tape whose primitives read the memory */
    public Memories(Tape tape) {
        this.tape = tape;
    }

    /** Returns memory with a tensor's numbers, the same at each call. */
    public memory filled(String name, Tensor tensor, memory.desc plain, memory.desc wanted) {
        memory filled = kept.computeIfAbsent(name, key -> tape.filled(tensor, plain, wanted));
        if (!filled.get_desc().equals(wanted)) {
            throw new IllegalStateException("two primitives read " + name + " in different orders");
        }
        return filled;
    }

    /** Returns the memory of a name, the same at each call. */
    public memory named(String name, memory.desc description) {
        return kept.computeIfAbsent(name, key -> tape.memory(description));
    }

    /** Returns memory for activations. */
    public memory take(memory.desc description) {
        Deque<memory> sameSize = free.get(description.get_size());
        return sameSize == null || sameSize.isEmpty()
                ? tape.memory(description)
                : new memory(description, tape.cpu(), sameSize.pop().get_data_handle());
    }

    /** Takes back what nothing reads from here on. */
    public void give(memory activations) {
        free.computeIfAbsent(activations.get_desc().get_size(), size -> new ArrayDeque<>())
                .push(activations);
    }
}
