package org.dl4jamp.benchmarks.tape;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.benchmarks.blueprint.Tensor;

/** The data between operations: activations forward, their gradients backward. */
public final class Flow {
    private final Tape tape;
    private final long[] shape;
    private final memory.desc description;
    private final memory.desc gradientDescription;
    private final memory value;
    private final boolean needsGradient;
    private final List<memory> gradients = new ArrayList<>();

    private Flow(
            Tape tape,
            long[] shape,
            memory.desc description,
            memory.desc gradient,
            memory value,
            boolean needsGradient) {
        this.tape = tape;
        this.shape = shape;
        this.description = description;
        this.gradientDescription = gradient;
        this.value = value;
        this.needsGradient = needsGradient;
    }

    /** Returns the features, which need no gradient, with the channels of images last. */
    public static Flow features(Tape tape, Tensor features) {
        long[] shape = features.shape();
        boolean images = shape.length == 4;
        memory.format_tag plainTag =
                images ? memory.format_tag.abcd : shape.length == 3 ? memory.format_tag.abc : memory.format_tag.ab;
        memory.desc wanted = tape.activations(images ? memory.format_tag.acdb : plainTag, shape);
        return withoutGradient(tape, tape.filled(features, tape.floats(plainTag, shape), wanted), wanted, shape);
    }

    /** Makes a flow without gradient. */
    public static Flow withoutGradient(Tape tape, memory value, memory.desc description, long... shape) {
        return new Flow(tape, shape, description, description, value, false);
    }

    /** Makes the output of an operation, with gradients of the same type. */
    public static Flow output(Tape tape, memory.desc description, long... shape) {
        return new Flow(tape, shape, description, description, tape.memory(description), true);
    }

    /** Makes the output of an operation, with gradients of another type. */
    public static Flow output(Tape tape, memory.desc description, memory.desc gradient, long... shape) {
        return new Flow(tape, shape, description, gradient, tape.memory(description), true);
    }

    /** Returns the size of one axis. */
    public long size(int axis) {
        return shape[axis];
    }

    /** Returns the number of axes. */
    public int rank() {
        return shape.length;
    }

    /** Returns a copy of its shape. */
    public long[] shape() {
        return shape.clone();
    }

    /** Returns the type and the order of the values. */
    public memory.desc description() {
        return description;
    }

    /** Returns those of the gradient. */
    public memory.desc gradientDescription() {
        return gradientDescription;
    }

    /** Returns the memory of the values. */
    public memory value() {
        return value;
    }

    /** Returns whether one value is where the other is. */
    public boolean isInMemoryOf(Flow other) {
        return value.get_data_handle().address()
                == other.value.get_data_handle().address();
    }

    /** Returns whether anything reads its gradient. */
    public boolean needsGradient() {
        return needsGradient;
    }

    /** New memory for what one consumer contributes to the gradient. */
    public memory newGradient() {
        memory gradient = tape.memory(gradientDescription);
        gradients.add(gradient);
        return gradient;
    }

    /** Adds another consumer's contribution, in memory that others may read too. */
    public void addGradient(memory gradient) {
        gradients.add(gradient);
    }

    /** Returns the gradient, when all consumers have contributed: their sum. */
    public memory gradient() {
        memory sum = gradients.get(0);
        for (memory next : gradients.subList(1, gradients.size())) {
            memory target = tape.memory(gradientDescription);
            binary.primitive_desc description = new binary.primitive_desc(
                    tape.cpu(),
                    dnnl.algorithm.binary_add,
                    gradientDescription,
                    gradientDescription,
                    gradientDescription);
            tape.add(
                    new binary(description),
                    new Tape.Argument(dnnl.DNNL_ARG_SRC_0, sum),
                    new Tape.Argument(dnnl.DNNL_ARG_SRC_1, next),
                    new Tape.Argument(dnnl.DNNL_ARG_DST, target));
            sum = target;
        }
        return sum;
    }
}
