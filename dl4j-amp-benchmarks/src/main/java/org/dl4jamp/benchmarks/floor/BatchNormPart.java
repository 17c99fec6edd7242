package org.dl4jamp.benchmarks.floor;

import org.bytedeco.dnnl.batch_normalization_backward;
import org.bytedeco.dnnl.batch_normalization_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Part;
import org.dl4jamp.benchmarks.tape.Tape;

/** Batch normalization, with ReLU if that follows: one primitive in both directions. */
final class BatchNormPart implements Part {
    private final Tape tape;
    private final Flow input;
    private final Flow output;
    private final float epsilon;
    private final int flags;
    private final memory.desc perChannel;
    private final memory scale;
    private final memory mean;
    private final memory variance;
    private final memory workspace;
    private final batch_normalization_forward.primitive_desc forward;

    BatchNormPart(Tape tape, Flow input, double epsilon, Tensor scale, Tensor shift, boolean relu) {
        this.tape = tape;
        this.input = input;
        this.epsilon = (float) epsilon;
        flags = dnnl.dnnl_use_scale | dnnl.dnnl_use_shift | (relu ? dnnl.dnnl_fuse_norm_relu : 0);
        perChannel = tape.floats(memory.format_tag.a, input.size(1));
        output = Flow.output(tape, input.description(), input.shape());
        forward = new batch_normalization_forward.primitive_desc(
                tape.cpu(),
                dnnl.prop_kind.forward_training.value,
                input.description(),
                output.description(),
                this.epsilon,
                flags);
        this.scale = tape.filled(scale, perChannel, perChannel);
        mean = tape.memory(perChannel);
        variance = tape.memory(perChannel);
        workspace = tape.memory(forward.workspace_desc());
        tape.add(
                new batch_normalization_forward(forward),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, input.value()),
                new Tape.Argument(dnnl.DNNL_ARG_SCALE, this.scale),
                new Tape.Argument(dnnl.DNNL_ARG_SHIFT, tape.filled(shift, perChannel, perChannel)),
                new Tape.Argument(dnnl.DNNL_ARG_MEAN, mean),
                new Tape.Argument(dnnl.DNNL_ARG_VARIANCE, variance),
                new Tape.Argument(dnnl.DNNL_ARG_WORKSPACE, workspace),
                new Tape.Argument(dnnl.DNNL_ARG_DST, output.value()));
    }

    @Override
    public Flow output() {
        return output;
    }

    @Override
    public void backward() {
        batch_normalization_backward.primitive_desc backward = new batch_normalization_backward.primitive_desc(
                tape.cpu(),
                dnnl.prop_kind.backward.value,
                input.gradientDescription(),
                output.gradientDescription(),
                input.description(),
                epsilon,
                flags,
                forward);
        tape.add(
                new batch_normalization_backward(backward),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, input.value()),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_DST, output.gradient()),
                new Tape.Argument(dnnl.DNNL_ARG_SCALE, scale),
                new Tape.Argument(dnnl.DNNL_ARG_MEAN, mean),
                new Tape.Argument(dnnl.DNNL_ARG_VARIANCE, variance),
                new Tape.Argument(dnnl.DNNL_ARG_WORKSPACE, workspace),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_SRC, input.newGradient()),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_SCALE, tape.memory(perChannel)),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_SHIFT, tape.memory(perChannel)));
    }
}
