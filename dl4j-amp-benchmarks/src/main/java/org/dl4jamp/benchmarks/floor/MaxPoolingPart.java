package org.dl4jamp.benchmarks.floor;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.pooling_backward;
import org.bytedeco.dnnl.pooling_forward;
import org.dl4jamp.benchmarks.blueprint.Window;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Part;
import org.dl4jamp.benchmarks.tape.Tape;

/** Maximum pooling. */
final class MaxPoolingPart implements Part {
    private static final long[] NO_GAPS = {0, 0};

    private final Tape tape;
    private final Flow input;
    private final Flow output;
    private final long[] kernel;
    private final long[] strides;
    private final Window.Padding padding;
    private final memory places;
    private final pooling_forward.primitive_desc forward;

    MaxPoolingPart(Tape tape, Flow input, Window window) {
        this.tape = tape;
        this.input = input;
        kernel = new long[] {window.height(), window.width()};
        strides = new long[] {window.strideY(), window.strideX()};
        padding = window.padding();
        long[] shape = outputShape(input, window);
        output = Flow.output(tape, tape.activations(memory.format_tag.acdb, shape), shape);
        forward = new pooling_forward.primitive_desc(
                tape.cpu(),
                dnnl.prop_kind.forward_training,
                dnnl.algorithm.pooling_max,
                input.description(),
                output.description(),
                strides,
                kernel,
                NO_GAPS,
                padding.before(),
                padding.after());
        places = tape.memory(forward.workspace_desc());
        tape.add(
                new pooling_forward(forward),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, input.value()),
                new Tape.Argument(dnnl.DNNL_ARG_WORKSPACE, places),
                new Tape.Argument(dnnl.DNNL_ARG_DST, output.value()));
    }

    static long[] outputShape(Flow input, Window window) {
        return new long[] {
            input.size(0), input.size(1), window.outputHeight(input.size(2)), window.outputWidth(input.size(3))
        };
    }

    @Override
    public Flow output() {
        return output;
    }

    @Override
    public void backward() {
        pooling_backward.primitive_desc backward = new pooling_backward.primitive_desc(
                tape.cpu(),
                dnnl.algorithm.pooling_max,
                input.gradientDescription(),
                output.gradientDescription(),
                strides,
                kernel,
                NO_GAPS,
                padding.before(),
                padding.after(),
                forward);
        tape.add(
                new pooling_backward(backward),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_DST, output.gradient()),
                new Tape.Argument(dnnl.DNNL_ARG_WORKSPACE, places),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_SRC, input.newGradient()));
    }
}
