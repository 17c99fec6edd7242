package org.dl4jamp.benchmarks.floor;

import org.bytedeco.dnnl.dnnl_primitive_desc;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Part;
import org.dl4jamp.benchmarks.tape.Tape;

/**
 * Images with each pixel repeated: resampling by the nearest neighbour. The binding has no C++ constructors of it, only
 * the C functions.
 */
final class UpsamplingPart implements Part {
    private static final float[] FACTORS_OF_THE_SHAPES = null;

    private final Tape tape;
    private final Flow input;
    private final Flow output;
    private final primitive_desc forward;

    UpsamplingPart(Tape tape, Flow input, Operation.Upsampling upsampling) {
        this.tape = tape;
        this.input = input;
        long[] shape = outputShape(input, upsampling);
        output = Flow.output(tape, tape.activations(memory.format_tag.acdb, shape), shape);
        forward = forward(tape, input, output, dnnl.dnnl_forward_training);
    }

    static long[] outputShape(Flow input, Operation.Upsampling upsampling) {
        long[] shape = input.shape();
        shape[2] *= upsampling.rows();
        shape[3] *= upsampling.columns();
        return shape;
    }

    /** Puts the primitive on the tape, and returns its description. */
    static primitive_desc forward(Tape tape, Flow input, Flow output, int kind) {
        dnnl_primitive_desc made = new dnnl_primitive_desc();
        check(dnnl.dnnl_resampling_forward_primitive_desc_create(
                made,
                tape.cpu().get(),
                kind,
                dnnl.dnnl_resampling_nearest,
                FACTORS_OF_THE_SHAPES,
                input.description().get(),
                output.description().get(),
                new primitive_attr().get()));
        primitive_desc description = new primitive_desc(made);
        tape.add(
                new primitive(description),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, input.value()),
                new Tape.Argument(dnnl.DNNL_ARG_DST, output.value()));
        return description;
    }

    private static void check(int status) {
        if (status != dnnl.dnnl_success) {
            throw new IllegalStateException("oneDNN can't repeat pixels: status " + status);
        }
    }

    @Override
    public Flow output() {
        return output;
    }

    @Override
    public void backward() {
        dnnl_primitive_desc made = new dnnl_primitive_desc();
        check(dnnl.dnnl_resampling_backward_primitive_desc_create(
                made,
                tape.cpu().get(),
                dnnl.dnnl_resampling_nearest,
                FACTORS_OF_THE_SHAPES,
                input.gradientDescription().get(),
                output.gradientDescription().get(),
                forward.get(),
                new primitive_attr().get()));
        tape.add(
                new primitive(new primitive_desc(made)),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_DST, output.gradient()),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_SRC, input.newGradient()));
    }
}
