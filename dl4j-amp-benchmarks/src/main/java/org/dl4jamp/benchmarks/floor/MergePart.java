package org.dl4jamp.benchmarks.floor;

import java.util.List;
import org.bytedeco.dnnl.concat;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.memory_desc_vector;
import org.bytedeco.dnnl.reorder;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Part;
import org.dl4jamp.benchmarks.tape.Tape;

/** The channels of several images, one input after the other. Each input's gradient is copied out of the whole. */
final class MergePart implements Part {
    private static final int CHANNELS = 1;

    private final Tape tape;
    private final List<Flow> inputs;
    private final Flow output;

    MergePart(Tape tape, List<Flow> inputs) {
        this.tape = tape;
        this.inputs = List.copyOf(inputs);
        long[] shape = outputShape(inputs);
        output = Flow.output(tape, tape.activations(memory.format_tag.acdb, shape), shape);
        forward(tape, inputs, output);
    }

    static long[] outputShape(List<Flow> inputs) {
        long[] shape = inputs.get(0).shape();
        shape[CHANNELS] =
                inputs.stream().mapToLong(input -> input.size(CHANNELS)).sum();
        return shape;
    }

    /** Puts the primitive on the tape. */
    static void forward(Tape tape, List<Flow> inputs, Flow output) {
        memory_desc_vector descriptions =
                new memory_desc_vector(inputs.stream().map(Flow::description).toArray(memory.desc[]::new));
        concat.primitive_desc description =
                new concat.primitive_desc(tape.cpu(), output.description(), CHANNELS, descriptions);
        tape.add(new concat(description), new Tape.Argument(dnnl.DNNL_ARG_DST, output.value()));
        for (int i = 0; i < inputs.size(); i++) {
            tape.addArguments(new Tape.Argument(
                    dnnl.DNNL_ARG_MULTIPLE_SRC + i, inputs.get(i).value()));
        }
    }

    @Override
    public Flow output() {
        return output;
    }

    @Override
    public void backward() {
        memory gradient = output.gradient();
        long start = 0;
        for (Flow input : inputs) {
            if (input.needsGradient()) {
                long[] first = {0, start, 0, 0};
                memory.desc part = output.gradientDescription().submemory_desc(input.shape(), first);
                reorder.primitive_desc description =
                        new reorder.primitive_desc(tape.cpu(), part, tape.cpu(), input.gradientDescription());
                tape.add(
                        new reorder(description),
                        new Tape.Argument(dnnl.DNNL_ARG_FROM, gradient),
                        new Tape.Argument(dnnl.DNNL_ARG_TO, input.newGradient()));
            }
            start += input.size(CHANNELS);
        }
    }
}
