package org.dl4jamp.onednn.linear;

import java.util.Arrays;
import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.pooling.SideBySide;
import org.dl4jamp.onednn.pooling.WindowGeometry;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;

/**
 * oneDNN's convolution, grouped if the weights have an axis for it, or its deconvolution.
 *
 * @param source the numbers that the windows cover
 * @param geometry the windows, over what they cover
 * @param gradientsByPixels whether {@link PixelPrimitives} compute the weights' gradients
 * @param implementation how oneDNN's name of the forward primitive's implementation begins; empty for its first one
 */
record ConvolutionPrimitives<F extends primitive_desc>(
        ConvolutionKind<F> kind,
        Source source,
        WindowGeometry geometry,
        boolean gradientsByPixels,
        String implementation)
        implements ProductPrimitives<F> {
    ConvolutionPrimitives(ConvolutionKind<F> kind, Source source, WindowGeometry geometry) {
        this(kind, source, geometry, false, "");
    }

    /**
     * Returns a convolution of the input that is run forward alone.
     *
     * @param channels of the input
     * @param made channels of the output
     */
    static ConvolutionPrimitives<?> inference(WindowGeometry geometry, long channels, long made) {
        return new ConvolutionPrimitives<>(
                ConvolutionKind.CONVOLUTION, Source.INPUT, geometry, false, fastest(geometry, channels, made));
    }

    /** Returns a convolution of the input that is trained. */
    static ConvolutionPrimitives<?> training(WindowGeometry geometry) {
        return new ConvolutionPrimitives<>(
                ConvolutionKind.CONVOLUTION, Source.INPUT, geometry, PixelPrimitives.suitGradients(geometry), "");
    }

    /** With AVX2 oneDNN's first implementation isn't the fastest of all windows. In training little is gained. */
    private static String fastest(WindowGeometry geometry, long channels, long made) {
        if (!OneDnnLibrary.isAvx2()) {
            return "";
        }
        if (geometry.isPointwise()) {
            return "jit_1x1:";
        }
        boolean isSecond = channels <= MOST_CHANNELS_OF_SECOND || (isLarge(geometry) && fillsBlocks(made));
        return isSecond ? "jit:" : "";
    }

    private static boolean isLarge(WindowGeometry geometry) {
        long[] output = geometry.output();
        return output.length == 2
                && output[1] >= SHORTEST_ROW_OF_SECOND
                && Arrays.stream(geometry.kernel()).reduce(1, (a, b) -> a * b) >= SMALLEST_WINDOW_OF_SECOND
                && geometry.axes().stream().allMatch(ConvolutionPrimitives::isPlain);
    }

    /** Returns whether an implementation that computes blocks of channels computes few for nothing. */
    private static boolean fillsBlocks(long channels) {
        long blocks = (channels + BLOCK - 1) / BLOCK;
        return blocks > 2 ? channels % (2 * BLOCK) == 0 : 4 * channels > 3 * BLOCK * blocks;
    }

    /** The numbers that windows cover. */
    enum Source {
        INPUT,
        /** Padding, because no window covers a number of the input. */
        PADDING,
        /** The images of a minibatch in one long row; for forward passes. */
        SIDE_BY_SIDE
    }

    /**
     * Longer rows are computed in place. oneDNN multiplies row by row, and short rows leave most of its accumulators
     * unused. Side by side they take 0.2 to 0.8 of the time (measured on a Zen 5).
     */
    private static final long LONGEST_ROW = 4;

    /** With AVX2 it takes longer for fewer. */
    private static final long FEWEST_IMAGES = 4;

    /** Copies take a few microseconds. They don't pay for fewer multiplications. */
    private static final long FEWEST_MULTIPLICATIONS = 1 << 22;

    /**
     * Up to so many channels of the input AVX2 takes 0.6 to 0.8 of the time in the second implementation. With
     * pointwise windows another one takes 0.8 to 1.1, whatever the channels (measured on a Zen 3).
     */
    private static final long MOST_CHANNELS_OF_SECOND = 4;

    /**
     * From so many positions of a window on it takes 0.7 to 0.95 of the time, whatever the input's channels (measured
     * on a Zen 3). Blocks of the output's channels have to be full, and rows long.
     */
    private static final long SMALLEST_WINDOW_OF_SECOND = 25;

    private static final long SHORTEST_ROW_OF_SECOND = 14;
    private static final long BLOCK = 32;

    /**
     * Returns whether images are faster side by side: with short rows and windows that move by single steps.
     *
     * @param geometry the windows, over the input
     * @param weights the number of weights
     */
    static boolean suitsSideBySide(WindowGeometry geometry, long minibatch, long weights) {
        long[] output = geometry.output();
        return minibatch >= FEWEST_IMAGES
                && output.length == 2
                && output[1] <= LONGEST_ROW
                && minibatch * output[0] * output[1] * weights >= FEWEST_MULTIPLICATIONS
                && geometry.axes().get(1).kernel() > 1
                && geometry.axes().stream().allMatch(ConvolutionPrimitives::isPlain);
    }

    private static boolean isPlain(WindowGeometry.Axis axis) {
        return axis.stride() == 1 && axis.gap() == 0 && 2 * Math.max(axis.before(), axis.after()) <= axis.kernel();
    }

    @Override
    public String name() {
        return kind.name() + " with " + geometry;
    }

    @Override
    public InputSamples samples(OneDnnContext context, String layer, Layout input) {
        return switch (source) {
            case INPUT -> InputSamples.all(input);
            case PADDING -> InputSamples.padding(context, layer, geometry, input);
            case SIDE_BY_SIDE -> InputSamples.sideBySide(context, layer, input);
        };
    }

    @Override
    public boolean areByRows(Layout input) {
        return kind.multiplies()
                && source == Source.INPUT
                && geometry.isPointwise()
                && !PixelPrimitives.isStrided(geometry);
    }

    @Override
    public Optional<WindowGeometry> windows() {
        boolean inPlace = kind.multiplies() && source == Source.INPUT;
        return inPlace && geometry.eachCoversNumbers() ? Optional.of(geometry) : Optional.empty();
    }

    @Override
    public ConvolutionPrimitives<F> over(WindowGeometry windows) {
        return new ConvolutionPrimitives<>(kind, source, windows, gradientsByPixels, implementation);
    }

    @Override
    public Layout seen(Layout images) {
        return source == Source.SIDE_BY_SIDE ? SideBySide.seen(images) : images;
    }

    @Override
    public Layout seenWeights(Layout weights) {
        return weights;
    }

    @Override
    public Optional<SideBySide> written(OneDnnContext context, String layer, Layout output, Layout input) {
        return source == Source.SIDE_BY_SIDE
                ? Optional.of(SideBySide.written(context, layer, output, input))
                : Optional.empty();
    }

    @Override
    public ProductPrimitives<?> gradients() {
        return gradientsByPixels ? new PixelPrimitives(geometry, false) : this;
    }

    @Override
    public F forward(
            memory.desc input, memory.desc weights, memory.desc bias, memory.desc output, primitive_attr attributes) {
        if (isBeyondFastCode(input)) {
            return OneDnnContext.withoutGeneratedCode(first(input, weights, bias, output, attributes));
        }
        return OneDnnContext.named(implementation, () -> first(input, weights, bias, output, attributes));
    }

    private boolean isBeyondFastCode(memory.desc input) {
        return kind.multiplies() && input.get_dims().get(1) == 1 && geometry.isBeyondFastSingleChannel();
    }

    /** Describes the implementation that oneDNN takes for the fastest. */
    private F first(
            memory.desc input, memory.desc weights, memory.desc bias, memory.desc output, primitive_attr attributes) {
        return kind.forward()
                .make(
                        OneDnnContext.cpu(),
                        dnnl.prop_kind.forward_training,
                        kind.method(),
                        input,
                        weights,
                        bias,
                        output,
                        geometry.strides(),
                        geometry.gaps(),
                        geometry.before(),
                        geometry.after(),
                        attributes,
                        false);
    }

    @Override
    public primitive_desc backwardData(
            memory.desc input, memory.desc weights, memory.desc output, F hint, primitive_attr attributes) {
        return kind.backwardData()
                .make(
                        OneDnnContext.cpu(),
                        kind.method(),
                        input,
                        weights,
                        output,
                        geometry.strides(),
                        geometry.gaps(),
                        geometry.before(),
                        geometry.after(),
                        hint,
                        attributes,
                        false);
    }

    @Override
    public primitive_desc backwardWeights(
            memory.desc input,
            memory.desc weights,
            memory.desc bias,
            memory.desc output,
            F hint,
            primitive_attr attributes) {
        primitive_desc gradient = kind.backwardWeights()
                .make(
                        OneDnnContext.cpu(),
                        kind.method(),
                        input,
                        weights,
                        bias,
                        output,
                        geometry.strides(),
                        geometry.gaps(),
                        geometry.before(),
                        geometry.after(),
                        hint,
                        attributes,
                        false);
        return kind.multiplies() && geometry.isBeyondFastGradients()
                ? OneDnnContext.withoutGeneratedCode(gradient)
                : gradient;
    }
}
