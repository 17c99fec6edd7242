package org.dl4jamp.benchmarks.floor;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.inner_product_backward_data;
import org.bytedeco.dnnl.inner_product_backward_weights;
import org.bytedeco.dnnl.inner_product_forward;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.benchmarks.blueprint.Tensor;

/** A product with weights, on rows, on images as they lie there, or on each step of a sequence; with ReLU if that follows. */
final class DensePart implements Part {
    private final Tape tape;
    private final Flow input;
    private final Flow output;
    private final boolean relu;
    private final Tensor weights;
    private final memory.desc rows;
    private final memory.desc rowGradients;
    private final memory.desc plainWeights;
    private final memory.desc anyWeights;
    private final long[] weightShape;
    private final memory.desc biases;
    private final inner_product_forward.primitive_desc forward;

    DensePart(Tape tape, Flow input, Tensor weights, Tensor bias, boolean relu) {
        this.tape = tape;
        this.input = input;
        this.relu = relu;
        this.weights = weights;
        long outputs = weights.size(0);
        boolean images = input.rank() == 4;
        long minibatch = input.rank() == 3 ? input.size(0) * input.size(1) : input.size(0);
        weightShape = images ? new long[] {outputs, input.size(1), input.size(2), input.size(3)} : weights.shape();
        rows = input.rank() == 3
                ? input.description().reshape(new long[] {minibatch, input.size(2)})
                : input.description();
        rowGradients = input.rank() == 3
                ? input.gradientDescription().reshape(new long[] {minibatch, input.size(2)})
                : input.gradientDescription();
        plainWeights = tape.floats(images ? memory.format_tag.abcd : memory.format_tag.ab, weightShape);
        anyWeights = tape.activations(memory.format_tag.any, weightShape);
        biases = tape.floats(memory.format_tag.a, outputs);
        output = Flow.output(tape, tape.activations(memory.format_tag.ab, minibatch, outputs), minibatch, outputs);
        forward = new inner_product_forward.primitive_desc(
                tape.cpu(),
                dnnl.prop_kind.forward_training,
                rows,
                anyWeights,
                biases,
                output.description(),
                ReluFusion.attributes(relu),
                false);
        tape.add(
                new inner_product_forward(forward),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, input.value()),
                new Tape.Argument(dnnl.DNNL_ARG_WEIGHTS, tape.filled(weights, plainWeights, forward.weights_desc())),
                new Tape.Argument(dnnl.DNNL_ARG_BIAS, tape.filled(bias, biases, biases)),
                new Tape.Argument(dnnl.DNNL_ARG_DST, output.value()));
    }

    @Override
    public Flow output() {
        return output;
    }

    @Override
    public void backward() {
        memory gradient = ReluFusion.backward(tape, output, relu);
        if (input.needsGradient()) {
            inner_product_backward_data.primitive_desc data = new inner_product_backward_data.primitive_desc(
                    tape.cpu(), rowGradients, anyWeights, output.gradientDescription(), forward);
            tape.add(
                    new inner_product_backward_data(data),
                    new Tape.Argument(dnnl.DNNL_ARG_DIFF_DST, gradient),
                    new Tape.Argument(dnnl.DNNL_ARG_WEIGHTS, tape.filled(weights, plainWeights, data.weights_desc())),
                    new Tape.Argument(dnnl.DNNL_ARG_DIFF_SRC, input.newGradient()));
        }
        inner_product_backward_weights.primitive_desc ofWeights = new inner_product_backward_weights.primitive_desc(
                tape.cpu(),
                rows,
                tape.floats(memory.format_tag.any, weightShape),
                biases,
                output.gradientDescription(),
                forward);
        tape.add(
                new inner_product_backward_weights(ofWeights),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, input.value()),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_DST, gradient),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_WEIGHTS, tape.memory(ofWeights.diff_weights_desc())),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_BIAS, tape.memory(biases)));
    }
}
