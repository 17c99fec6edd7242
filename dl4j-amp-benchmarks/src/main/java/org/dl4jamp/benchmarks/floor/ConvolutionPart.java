package org.dl4jamp.benchmarks.floor;

import java.util.Optional;
import java.util.function.Supplier;
import org.bytedeco.dnnl.convolution_backward_data;
import org.bytedeco.dnnl.convolution_backward_weights;
import org.bytedeco.dnnl.convolution_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.blueprint.Window;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.ReluFusion;
import org.dl4jamp.benchmarks.tape.Tape;

/** A convolution with its bias, and with ReLU if that follows. */
final class ConvolutionPart extends ProductPart {
    private static final dnnl.algorithm ALGORITHM = dnnl.algorithm.convolution_direct;
    private static final long MOST_CHANNELS_OF_SECOND = 4;
    private static final long SMALLEST_WINDOW_OF_SECOND = 25;
    private static final long SHORTEST_ROW_OF_SECOND = 14;
    private static final long BLOCK = 32;

    private final Tape tape;
    private final Flow input;
    private final Tensor weights;
    private final memory.desc anyWeights;
    private final memory.desc biases;
    private final long[] strides;
    private final Window.Padding padding;
    private final convolution_forward.primitive_desc forward;

    ConvolutionPart(Tape tape, Flow input, Window window, Tensor weights, Tensor bias, boolean relu) {
        super(
                tape,
                input,
                output(tape, input, window, weights),
                weights,
                Optional.of(bias),
                tape.floats(memory.format_tag.abcd, weights.shape()),
                relu);
        this.tape = tape;
        this.input = input;
        this.weights = weights;
        anyWeights = tape.activations(memory.format_tag.any, weights.shape());
        biases = biases(tape, Optional.of(bias));
        strides = new long[] {window.strideY(), window.strideX()};
        padding = window.padding();
        forward = new convolution_forward.primitive_desc(
                tape.cpu(),
                dnnl.prop_kind.forward_training,
                ALGORITHM,
                input.description(),
                anyWeights,
                biases,
                output().description(),
                strides,
                padding.before(),
                padding.after(),
                ReluFusion.attributes(relu),
                false);
        forward(forward);
    }

    static long[] outputShape(Flow input, Window window, Tensor weights) {
        return new long[] {
            input.size(0), weights.size(0), window.outputHeight(input.size(2)), window.outputWidth(input.size(3))
        };
    }

    /**
     * Returns the fastest implementation that was found for inference. With AVX2 it isn't oneDNN's first one for
     * windows of one position, for few channels of the input, and for large windows whose blocks of channels are full.
     *
     * @param weights the shape of the weights, {@code [out, in, height, width]}
     * @param width of the output
     */
    static convolution_forward.primitive_desc fastest(
            Window window, long[] weights, long width, Supplier<convolution_forward.primitive_desc> first) {
        convolution_forward.primitive_desc description = first.get();
        boolean isPointwise = weights[2] * weights[3] == 1;
        boolean isLarge = weights[2] * weights[3] >= SMALLEST_WINDOW_OF_SECOND
                && width >= SHORTEST_ROW_OF_SECOND
                && window.strideY() * window.strideX() == 1
                && fillsBlocks(weights[0]);
        if (!isAvx2(description) || (!isPointwise && !isLarge && weights[1] > MOST_CHANNELS_OF_SECOND)) {
            return description;
        }
        String name = isPointwise ? "jit_1x1:" : "jit:";
        while (!description.impl_info_str().getString().startsWith(name)) {
            if (!description.next_impl()) {
                return first.get();
            }
        }
        return description;
    }

    private static boolean fillsBlocks(long channels) {
        long blocks = (channels + BLOCK - 1) / BLOCK;
        return blocks > 2 ? channels % (2 * BLOCK) == 0 : 4 * channels > 3 * BLOCK * blocks;
    }

    private static boolean isAvx2(primitive_desc description) {
        return description.impl_info_str().getString().endsWith(":avx2");
    }

    private static Flow output(Tape tape, Flow input, Window window, Tensor weights) {
        long[] shape = outputShape(input, window, weights);
        return Flow.output(tape, tape.activations(memory.format_tag.acdb, shape), shape);
    }

    @Override
    primitive_desc backwardData() {
        return new convolution_backward_data.primitive_desc(
                tape.cpu(),
                ALGORITHM,
                input.gradientDescription(),
                anyWeights,
                output().gradientDescription(),
                strides,
                padding.before(),
                padding.after(),
                forward);
    }

    @Override
    primitive_desc backwardWeights() {
        return new convolution_backward_weights.primitive_desc(
                tape.cpu(),
                ALGORITHM,
                input.description(),
                tape.floats(memory.format_tag.any, weights.shape()),
                biases,
                output().gradientDescription(),
                strides,
                padding.before(),
                padding.after(),
                forward);
    }
}
