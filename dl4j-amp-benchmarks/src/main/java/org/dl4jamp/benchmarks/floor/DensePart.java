package org.dl4jamp.benchmarks.floor;

import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.inner_product_backward_data;
import org.bytedeco.dnnl.inner_product_backward_weights;
import org.bytedeco.dnnl.inner_product_forward;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.ReluFusion;
import org.dl4jamp.benchmarks.tape.Tape;

/**
 * A product with weights, on rows, on images in their order, or on each step of a sequence; with ReLU if that follows.
 */
final class DensePart extends ProductPart {
    private final Tape tape;
    private final Flow input;
    private final memory.desc anyWeights;
    private final long[] weightShape;
    private final memory.desc biases;
    private final inner_product_forward.primitive_desc forward;

    DensePart(Tape tape, Flow input, Tensor weights, Optional<Tensor> bias, boolean relu) {
        super(tape, input, output(tape, input, weights), weights, bias, plainWeights(tape, input, weights), relu);
        this.tape = tape;
        this.input = input;
        weightShape = weightShape(input, weights);
        anyWeights = tape.activations(memory.format_tag.any, weightShape);
        biases = biases(tape, bias);
        forward = new inner_product_forward.primitive_desc(
                tape.cpu(),
                dnnl.prop_kind.forward_training,
                asRows(input, input.description()),
                anyWeights,
                biases,
                output().description(),
                ReluFusion.attributes(relu),
                false);
        forward(forward);
    }

    private static boolean takesImages(Flow input) {
        return input.rank() == 4;
    }

    private static long[] weightShape(Flow input, Tensor weights) {
        return takesImages(input)
                ? new long[] {weights.size(0), input.size(1), input.size(2), input.size(3)}
                : weights.shape();
    }

    private static memory.desc plainWeights(Tape tape, Flow input, Tensor weights) {
        memory.format_tag order = takesImages(input) ? memory.format_tag.abcd : memory.format_tag.ab;
        return tape.floats(order, weightShape(input, weights));
    }

    static long rows(Flow input) {
        return input.rank() == 3 ? input.size(0) * input.size(1) : input.size(0);
    }

    /** Returns weights [outputs, channels * positions] of images as [outputs, positions * channels]. */
    static Tensor channelsLast(Tensor weights, Flow images) {
        int channels = (int) images.size(1);
        int positions = (int) (images.size(2) * images.size(3));
        float[] given = weights.values();
        float[] ordered = new float[given.length];
        for (int i = 0; i < ordered.length; i++) {
            int position = i / channels % positions;
            int output = i / channels / positions;
            ordered[i] = given[(output * channels + i % channels) * positions + position];
        }
        return new Tensor(weights.shape(), ordered);
    }

    private static Flow output(Tape tape, Flow input, Tensor weights) {
        long[] shape = {rows(input), weights.size(0)};
        return Flow.output(tape, tape.activations(memory.format_tag.ab, shape), shape);
    }

    /** Returns the steps of sequences one by one. */
    static memory.desc asRows(Flow input, memory.desc description) {
        return input.rank() == 3 ? description.reshape(new long[] {rows(input), input.size(2)}) : description;
    }

    @Override
    primitive_desc backwardData() {
        return new inner_product_backward_data.primitive_desc(
                tape.cpu(),
                asRows(input, input.gradientDescription()),
                anyWeights,
                output().gradientDescription(),
                forward);
    }

    @Override
    primitive_desc backwardWeights() {
        return new inner_product_backward_weights.primitive_desc(
                tape.cpu(),
                asRows(input, input.description()),
                tape.floats(memory.format_tag.any, weightShape),
                biases,
                output().gradientDescription(),
                forward);
    }
}
