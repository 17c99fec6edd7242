package org.dl4jamp.benchmarks.floor;

import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Part;
import org.dl4jamp.benchmarks.tape.ReluFusion;
import org.dl4jamp.benchmarks.tape.Tape;

/** The sum of two inputs, with ReLU if that follows. Its gradient goes to both as it is. */
final class AddPart implements Part {
    private final Tape tape;
    private final Flow first;
    private final Flow second;
    private final Flow output;
    private final boolean relu;

    AddPart(Tape tape, Flow first, Flow second, boolean relu) {
        this.tape = tape;
        this.first = first;
        this.second = second;
        this.relu = relu;
        output = Flow.output(tape, first.description(), first.shape());
        binary.primitive_desc forward = new binary.primitive_desc(
                tape.cpu(),
                dnnl.algorithm.binary_add,
                first.description(),
                second.description(),
                output.description(),
                ReluFusion.attributes(relu),
                false);
        tape.add(
                new binary(forward),
                new Tape.Argument(dnnl.DNNL_ARG_SRC_0, first.value()),
                new Tape.Argument(dnnl.DNNL_ARG_SRC_1, second.value()),
                new Tape.Argument(dnnl.DNNL_ARG_DST, output.value()));
    }

    @Override
    public Flow output() {
        return output;
    }

    @Override
    public void backward() {
        memory gradient = ReluFusion.backward(tape, output, relu);
        first.addGradient(gradient);
        second.addGradient(gradient);
    }
}
