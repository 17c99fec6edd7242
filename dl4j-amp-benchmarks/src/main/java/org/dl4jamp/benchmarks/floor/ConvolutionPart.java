package org.dl4jamp.benchmarks.floor;

import org.bytedeco.dnnl.convolution_backward_data;
import org.bytedeco.dnnl.convolution_backward_weights;
import org.bytedeco.dnnl.convolution_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.blueprint.Window;

/** A convolution with its bias, and with ReLU if that follows. */
final class ConvolutionPart implements Part {
    private static final dnnl.algorithm ALGORITHM = dnnl.algorithm.convolution_direct;

    private final Tape tape;
    private final Flow input;
    private final Flow output;
    private final boolean relu;
    private final Tensor weights;
    private final memory.desc plainWeights;
    private final memory.desc anyWeights;
    private final memory.desc biases;
    private final long[] strides;
    private final long[] padding;
    private final convolution_forward.primitive_desc forward;

    ConvolutionPart(Tape tape, Flow input, Window window, Tensor weights, Tensor bias, boolean relu) {
        this.tape = tape;
        this.input = input;
        this.relu = relu;
        this.weights = weights;
        long[] shape = weights.shape();
        long channels = shape[0];
        plainWeights = tape.floats(memory.format_tag.abcd, shape);
        anyWeights = tape.activations(memory.format_tag.any, shape);
        biases = tape.floats(memory.format_tag.a, channels);
        strides = new long[] {window.strideY(), window.strideX()};
        padding = new long[] {window.padY(), window.padX()};
        long[] outputShape = {
            input.size(0), channels, window.outputHeight(input.size(2)), window.outputWidth(input.size(3))
        };
        output = Flow.output(tape, tape.activations(memory.format_tag.acdb, outputShape), outputShape);
        forward = new convolution_forward.primitive_desc(
                tape.cpu(),
                dnnl.prop_kind.forward_training,
                ALGORITHM,
                input.description(),
                anyWeights,
                biases,
                output.description(),
                strides,
                padding,
                padding,
                ReluFusion.attributes(relu),
                false);
        tape.add(
                new convolution_forward(forward),
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
            convolution_backward_data.primitive_desc data = new convolution_backward_data.primitive_desc(
                    tape.cpu(),
                    ALGORITHM,
                    input.gradientDescription(),
                    anyWeights,
                    output.gradientDescription(),
                    strides,
                    padding,
                    padding,
                    forward);
            tape.add(
                    new convolution_backward_data(data),
                    new Tape.Argument(dnnl.DNNL_ARG_DIFF_DST, gradient),
                    new Tape.Argument(dnnl.DNNL_ARG_WEIGHTS, tape.filled(weights, plainWeights, data.weights_desc())),
                    new Tape.Argument(dnnl.DNNL_ARG_DIFF_SRC, input.newGradient()));
        }
        convolution_backward_weights.primitive_desc ofWeights = new convolution_backward_weights.primitive_desc(
                tape.cpu(),
                ALGORITHM,
                input.description(),
                tape.floats(memory.format_tag.any, weights.shape()),
                biases,
                output.gradientDescription(),
                strides,
                padding,
                padding,
                forward);
        tape.add(
                new convolution_backward_weights(ofWeights),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, input.value()),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_DST, gradient),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_WEIGHTS, tape.memory(ofWeights.diff_weights_desc())),
                new Tape.Argument(dnnl.DNNL_ARG_DIFF_BIAS, tape.memory(biases)));
    }
}
