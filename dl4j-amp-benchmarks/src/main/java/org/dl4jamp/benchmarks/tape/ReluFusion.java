package org.dl4jamp.benchmarks.tape;

import org.bytedeco.dnnl.eltwise_backward;
import org.bytedeco.dnnl.eltwise_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;

/**
 * ReLU as the last thing that another primitive does: forward it costs nothing, backward it is a pass of its own, read
 * off the output.
 */
public final class ReluFusion {
    private static final dnnl.algorithm RELU = dnnl.algorithm.eltwise_relu_use_dst_for_bwd;

    private ReluFusion() {}

    /** Returns attributes of the forward primitive. */
    public static primitive_attr attributes(boolean relu) {
        return attributes(false, relu);
    }

    /**
     * Returns attributes of the forward primitive.
     *
     * @param sum whether what is in the output's memory is added first
     */
    public static primitive_attr attributes(boolean sum, boolean relu) {
        primitive_attr attributes = new primitive_attr();
        post_ops after = new post_ops();
        if (sum) {
            after.append_sum();
        }
        if (relu) {
            after.append_eltwise(dnnl.algorithm.eltwise_relu, 0, 0);
        }
        attributes.set_post_ops(after);
        return attributes;
    }

    /** Returns the gradient before ReLU. */
    public static memory backward(Tape tape, Flow output, boolean relu) {
        memory gradient = output.gradient();
        if (!relu) {
            return gradient;
        }
        memory.desc values = output.description();
        eltwise_forward.primitive_desc hint =
                new eltwise_forward.primitive_desc(tape.cpu(), dnnl.prop_kind.forward_training, RELU, values, values);
        eltwise_backward.primitive_desc description = new eltwise_backward.primitive_desc(
                tape.cpu(), RELU, output.gradientDescription(), output.gradientDescription(), values, hint);
        memory before = tape.memory(output.gradientDescription());
        tape.add(
                new eltwise_backward(description),
                new Tape.Argument(dnnl.DNNL_ARG_DST, output.value()),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_DST, gradient),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_SRC, before));
        return before;
    }
}
