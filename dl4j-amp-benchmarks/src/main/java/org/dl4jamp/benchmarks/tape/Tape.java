package org.dl4jamp.benchmarks.tape;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.IntMemoryMap;
import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive;
import org.bytedeco.dnnl.reorder;
import org.bytedeco.dnnl.stream;
import org.bytedeco.javacpp.FloatPointer;
import org.dl4jamp.benchmarks.blueprint.Tensor;

/**
 * Primitives with their arguments, and copies of memory, in the order in which they run, and the memory that they use.
 */
public final class Tape {
    /** An argument of a primitive: one of oneDNN's argument numbers and a memory. */
    public record Argument(int index, memory of) {}

    private final engine cpu = new engine(engine.kind.cpu, 0);
    private final stream queue = new stream(cpu);
    private final memory.data_type type;
    private final List<Runnable> steps = new ArrayList<>();
    private final List<memory> wholes = new ArrayList<>();
    /** The arguments of the last primitive. */
    private IntMemoryMap last = new IntMemoryMap();

    /** @param type of activations and weights */
    public Tape(memory.data_type type) {
        this.type = type;
    }

    /** Returns the CPU as oneDNN's engine. */
    public engine cpu() {
        return cpu;
    }

    /** Returns the type of activations and weights. */
    public memory.data_type type() {
        return type;
    }

    /** Adds a primitive at the end. */
    public void add(primitive compiled, Argument... arguments) {
        IntMemoryMap map = new IntMemoryMap();
        last = map;
        addArguments(arguments);
        steps.add(() -> compiled.execute(queue, map));
    }

    /** Adds a copy of memory at the end, which the calling thread makes. */
    public void add(Runnable copy) {
        steps.add(copy);
    }

    /** Adds arguments to the last primitive. */
    public void addArguments(Argument... arguments) {
        for (Argument argument : arguments) {
            last.put(argument.index(), argument.of());
        }
    }

    /** Keeps memory of which primitives have parts alone. */
    public void keep(memory whole) {
        wholes.add(whole);
    }

    /** Returns the number of primitives and copies. */
    public int length() {
        return steps.size();
    }

    /** Runs all of them and waits for the last. */
    public void run() {
        steps.forEach(Runnable::run);
        queue._wait();
    }

    /** Returns new memory. */
    public memory memory(memory.desc description) {
        return new memory(description, cpu);
    }

    /** Returns activations of a shape, which oneDNN takes in the order of a tag. */
    public memory.desc activations(memory.format_tag tag, long... shape) {
        return new memory.desc(shape, type, tag);
    }

    /** Returns FP32 numbers of a shape. */
    public memory.desc floats(memory.format_tag tag, long... shape) {
        return new memory.desc(shape, memory.data_type.f32, tag);
    }

    /** Returns memory with a tensor's numbers, rounded and reordered for a primitive. */
    public memory filled(Tensor tensor, memory.desc plain, memory.desc wanted) {
        memory source = memory(plain);
        new FloatPointer(source.get_data_handle()).put(tensor.values());
        memory target = memory(wanted);
        new reorder(source, target).execute(queue, source, target);
        queue._wait();
        return target;
    }

    /** Returns the numbers in a memory, as FP32 in the order of a tag. */
    public float[] read(memory source, memory.format_tag tag, long... shape) {
        memory target = memory(floats(tag, shape));
        new reorder(source, target).execute(queue, source, target);
        queue._wait();
        long length = 1;
        for (long size : shape) {
            length *= size;
        }
        float[] numbers = new float[Math.toIntExact(length)];
        new FloatPointer(target.get_data_handle()).get(numbers);
        return numbers;
    }
}
