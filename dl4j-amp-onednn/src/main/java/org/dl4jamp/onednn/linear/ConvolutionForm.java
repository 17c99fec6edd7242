package org.dl4jamp.onednn.linear;

import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.PrimaryCapsules;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.dl4jamp.onednn.linear.ConvolutionPrimitives.Source;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.pooling.Window;
import org.dl4jamp.onednn.pooling.WindowGeometry;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.dl4jamp.onednn.weights.WeightCopies;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The form of one of DL4J's convolutional layers: a convolution along one, two or three axes, a deconvolution or a
 * depthwise convolution.
 *
 * @param window the window that moves over the input, or spreads the input out
 * @param transposed whether it is a deconvolution
 * @param channels the axis of the layer's arrays that holds the channels
 * @param weights layout of DL4J's weights, their axes in oneDNN's order: {@code [nOut, nIn, ...]}, and in a depthwise
 *     convolution {@code [groups, nOut of a group, 1, ...]}
 */
public record ConvolutionForm(
        Window window, boolean transposed, ChannelAxis channels, long nIn, long nOut, Layout weights) {

    static ConvolutionForm of(ConvolutionLayer layer) {
        int[] k = layer.getKernelSize();
        long nIn = layer.getNIn();
        long nOut = layer.getNOut();
        if (layer instanceof Convolution1DLayer sequence) {
            // DL4J reads its array [nOut, nIn, kernel, 1] as if it were [kernel, nIn, nOut].
            Layout weights = floats(k[0], nIn, nOut).permuted(2, 1, 0);
            return new ConvolutionForm(
                    window(layer, 1), false, ChannelAxis.of(sequence.getRnnDataFormat()), nIn, nOut, weights);
        }
        if (layer instanceof Convolution3D volume) {
            Layout weights = floats(nOut, nIn, k[0], k[1], k[2]);
            return new ConvolutionForm(
                    window(layer, 3), false, ChannelAxis.of(volume.getDataFormat()), nIn, nOut, weights);
        }
        if (layer instanceof Deconvolution3D volume) {
            Layout weights = floats(k[0], k[1], k[2], nOut, nIn).permuted(3, 4, 0, 1, 2);
            return new ConvolutionForm(
                    window(layer, 3), true, ChannelAxis.of(volume.getDataFormat()), nIn, nOut, weights);
        }
        ChannelAxis channels = ChannelAxis.of(layer.getCnn2dDataFormat());
        if (layer instanceof Deconvolution2D) {
            Layout weights = floats(nIn, nOut, k[0], k[1]).permuted(1, 0, 2, 3);
            return new ConvolutionForm(window(layer, 2), true, channels, nIn, nOut, weights);
        }
        if (layer instanceof DepthwiseConvolution2D depthwise) {
            long each = depthwise.getDepthMultiplier();
            Layout weights = floats(k[0], k[1], nIn, each, 1).permuted(2, 3, 4, 0, 1);
            return new ConvolutionForm(window(layer, 2), false, channels, nIn, nIn * each, weights);
        }
        return new ConvolutionForm(window(layer, 2), false, channels, nIn, nOut, floats(nOut, nIn, k[0], k[1]));
    }

    /** Returns the first half of a separable convolution. */
    static ConvolutionForm depthwiseOf(SeparableConvolution2D layer) {
        int[] k = layer.getKernelSize();
        long nIn = layer.getNIn();
        long each = layer.getDepthMultiplier();
        Layout weights = floats(each, nIn, 1, k[0], k[1]).permuted(1, 0, 2, 3, 4);
        ChannelAxis channels = ChannelAxis.of(layer.getCnn2dDataFormat());
        return new ConvolutionForm(window(layer, 2), false, channels, nIn, nIn * each, weights);
    }

    /** Returns the second half of a separable convolution. */
    static ConvolutionForm pointwiseOf(SeparableConvolution2D layer) {
        long nIn = layer.getNIn() * layer.getDepthMultiplier();
        long nOut = layer.getNOut();
        int[] ones = {1, 1};
        Window pixel = new Window(2, ones, ones, new int[2], ones, ConvolutionMode.Truncate);
        ChannelAxis channels = ChannelAxis.of(layer.getCnn2dDataFormat());
        return new ConvolutionForm(pixel, false, channels, nIn, nOut, floats(nOut, nIn, 1, 1));
    }

    /**
     * Returns the convolution in front of primary capsules. SameDiff rounds the number of windows down in Strict, too.
     */
    public static ConvolutionForm of(PrimaryCapsules layer) {
        int[] k = layer.getKernelSize();
        ConvolutionMode mode = layer.getConvolutionMode();
        Window window = new Window(
                2,
                k,
                layer.getStride(),
                layer.getPadding(),
                layer.getDilation(),
                mode == ConvolutionMode.Strict ? ConvolutionMode.Truncate : mode);
        long nIn = layer.getInputChannels();
        long nOut = (long) layer.getChannels() * layer.getCapsuleDimensions();
        Layout weights = floats(k[0], k[1], nIn, nOut).permuted(3, 2, 0, 1);
        return new ConvolutionForm(window, false, ChannelAxis.SECOND, nIn, nOut, weights);
    }

    private static Layout floats(long... shape) {
        return Layout.dense(DataType.FLOAT, shape);
    }

    private static Window window(ConvolutionLayer layer, int axes) {
        return new Window(
                axes,
                layer.getKernelSize(),
                layer.getStride(),
                layer.getPadding(),
                layer.getDilation(),
                layer.getConvolutionMode());
    }

    /**
     * Returns whether an input, given with its channels as the second axis, has as many axes and channels as the layer.
     */
    public boolean matches(INDArray input) {
        return input.rank() == window.axes() + 2 && input.size(1) == nIn;
    }

    /** Returns whether the window fits an input of the right rank. */
    public boolean fits(INDArray input) {
        long[] extents = Workspaces.extents(input);
        return transposed ? window.fitsSpread(extents) : window.fits(extents);
    }

    private WindowGeometry geometry(boolean overPadding, long... extents) {
        if (transposed) {
            return window.spreadOver(extents);
        }
        return overPadding ? window.overPadding(extents) : window.over(extents);
    }

    private boolean isGrouped() {
        return weights.shape().length > window.axes() + 2;
    }

    /**
     * Returns the kernels for a shape.
     *
     * @param input the layout of the input, its channels as the second axis
     * @param sum whether another array may be added before the activation function is applied
     * @param function the activation function to apply; null if there is none
     */
    public ProductKernels kernels(
            OneDnnContext context,
            String layer,
            WeightCopies copies,
            Layout input,
            boolean hasBias,
            boolean sum,
            Eltwise function) {
        long[] extents = input.extents();
        boolean overPadding = !transposed && !window.seesNumbers(extents);
        WindowGeometry geometry = geometry(overPadding, extents);
        Layout output = Layout.channelsLast(input.type(), Workspaces.shape(input.shape()[0], nOut, geometry.output()));
        ProductKernels.Task task = new ProductKernels.Task(layer, input, weights, hasBias, output, sum, function);
        return ProductKernels.make(
                context, primitives(geometry, overPadding, copies.areKept(), input, sum), copies, task);
    }

    private ProductPrimitives<?> primitives(
            WindowGeometry geometry, boolean overPadding, boolean keepsWeights, Layout input, boolean sum) {
        long minibatch = input.shape()[0];
        if (transposed) {
            return new ConvolutionPrimitives<>(ConvolutionKind.DECONVOLUTION, Source.INPUT, geometry);
        }
        if (overPadding || isGrouped()) {
            return convolution(overPadding ? Source.PADDING : Source.INPUT, geometry);
        }
        if (keepsWeights
                && !sum
                && OneDnnLibrary.hasFast(input.type())
                && ConvolutionPrimitives.suitsSideBySide(geometry, minibatch, weights.length())) {
            return convolution(Source.SIDE_BY_SIDE, geometry.sideBySide(minibatch));
        }
        if (keepsWeights && WindowPrimitives.suit(geometry, input, weights.length())) {
            return new WindowPrimitives(geometry);
        }
        // Weights that are kept are arranged once: a convolution's own order costs nothing then.
        boolean byPixels = keepsWeights
                ? PixelPrimitives.suitKept(geometry, weights.length(), OneDnnLibrary.isAvx2())
                        || (!sum && PixelPrimitives.suitSingle(geometry, nOut, input.type()))
                : PixelPrimitives.suit(geometry, minibatch);
        if (byPixels) {
            return new PixelPrimitives(geometry, keepsWeights);
        }
        return keepsWeights
                ? ConvolutionPrimitives.inference(geometry, input.shape()[1], nOut)
                : ConvolutionPrimitives.training(geometry);
    }

    private static ProductPrimitives<?> convolution(Source source, WindowGeometry geometry) {
        return new ConvolutionPrimitives<>(ConvolutionKind.CONVOLUTION, source, geometry);
    }
}
