package org.dl4jamp.benchmarks.floor;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.inner_product_forward;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.blueprint.Window;
import org.dl4jamp.benchmarks.stage.Stage;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.ReluFusion;
import org.dl4jamp.benchmarks.tape.Tape;

/**
 * A 1×1 convolution that makes a single channel in FP32, in inference: a product of rows of channels. oneDNN's
 * convolution takes up to five times as long.
 */
final class SingleChannel {
    private SingleChannel() {}

    /** @param weights {@code [out, in, height, width]} */
    static boolean isMade(Tape tape, Window window, Tensor weights) {
        return tape.type() == memory.data_type.f32
                && weights.size(0) == 1
                && weights.size(2) * weights.size(3) == 1
                && window.strideY() * window.strideX() == 1
                && window.padding().equals(Window.Padding.NONE);
    }

    /** Returns the weights as one row. */
    static Stage.Product ofRows(Stage.Product product) {
        float[] row = product.weights().values();
        return new Stage.Product(new Tensor(new long[] {1, row.length}, row), product.bias());
    }

    static inner_product_forward.primitive_desc description(Tape tape, Flow input, memory.desc bias, boolean relu) {
        long pixels = input.size(0) * input.size(2) * input.size(3);
        return new inner_product_forward.primitive_desc(
                tape.cpu(),
                dnnl.prop_kind.forward_inference,
                tape.activations(memory.format_tag.ab, pixels, input.size(1)),
                tape.activations(memory.format_tag.any, 1, input.size(1)),
                bias,
                tape.activations(memory.format_tag.ab, pixels, 1),
                ReluFusion.attributes(false, relu),
                false);
    }
}
