package org.dl4jamp.randomized;

import static org.dl4jamp.randomized.Part.Family.IMAGES;

import java.util.List;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.LocallyConnected2D;
import org.deeplearning4j.nn.conf.layers.PrimaryCapsules;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.SpaceToBatchLayer;
import org.deeplearning4j.nn.conf.layers.SpaceToDepthLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.Upsampling2D;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping2D;
import org.dl4jamp.randomized.Part.LayerPart;
import org.nd4j.linalg.activations.Activation;

/** Layers of images. */
final class LayersOfImages {
    static final List<LayerPart> ALL = List.of(
            LayerPart.of("convolution", LayersOfImages::convolution, IMAGES),
            LayerPart.of("convolution", LayersOfImages::convolution, IMAGES),
            LayerPart.of("pointwise", LayersOfImages::pointwise, IMAGES),
            LayerPart.of("depthwise", LayersOfImages::depthwise, IMAGES),
            LayerPart.of("separable", LayersOfImages::separable, IMAGES),
            LayerPart.of("deconvolution", LayersOfImages::deconvolution, IMAGES),
            LayerPart.of("subsampling", LayersOfImages::subsampling, IMAGES),
            LayerPart.of("upsampling", LayersOfImages::upsampling, IMAGES),
            LayerPart.of("zeroPadding", LayersOfImages::padding, IMAGES),
            LayerPart.of("cropping", LayersOfImages::cropping, IMAGES),
            LayerPart.of("spaceToDepth", LayersOfImages::spaceToDepth, IMAGES),
            LayerPart.of("spaceToBatch", LayersOfImages::spaceToBatch, IMAGES),
            LayerPart.of("primaryCapsules", LayersOfImages::primaryCapsules, IMAGES),
            LayerPart.of("localResponseNormalization", LayersOfImages::responseNormalization, IMAGES),
            LayerPart.of("locallyConnected", LayersOfImages::locallyConnected, IMAGES));

    private LayersOfImages() {}

    private static CNN2DFormat format(InputType type) {
        return type instanceof InputType.InputTypeConvolutional images ? images.getFormat() : CNN2DFormat.NCHW;
    }

    private static long channels(InputType type) {
        return ((InputType.InputTypeConvolutional) type).getChannels();
    }

    private static int[] pair(Draw draw, int least, int most) {
        return new int[] {draw.between(least, most), draw.between(least, most)};
    }

    private static ConvolutionMode mode(Draw draw) {
        return draw.of(ConvolutionMode.Same, ConvolutionMode.Truncate, ConvolutionMode.Strict);
    }

    /** Kernel, stride, padding and dilation. */
    private static <T extends ConvolutionLayer.BaseConvBuilder<T>> T window(Draw draw, T builder) {
        ConvolutionMode mode = mode(draw);
        builder.convolutionMode(mode);
        builder.dilation(draw.chance(0.8) ? new int[] {1, 1} : pair(draw, 1, 2));
        builder.hasBias(draw.chance(0.7));
        builder.activation(Functions.ofArrays(draw));
        return builder.nOut(draw.between(1, 5));
    }

    private static int[] stride(Draw draw) {
        return draw.chance(0.6) ? new int[] {1, 1} : pair(draw, 1, 2);
    }

    private static int[] padding(Draw draw) {
        return draw.chance(0.6) ? new int[] {0, 0} : pair(draw, 0, 1);
    }

    private static ConvolutionLayer convolution(Draw draw, InputType type) {
        return window(draw, new ConvolutionLayer.Builder(pair(draw, 1, 3), stride(draw), padding(draw)))
                .dataFormat(format(type))
                .build();
    }

    private static ConvolutionLayer pointwise(Draw draw, InputType type) {
        ConvolutionLayer.Builder builder =
                new ConvolutionLayer.Builder(new int[] {1, 1}, stride(draw)).dataFormat(format(type));
        // Sometimes enough channels for an output layer of boxes.
        return builder.nOut(draw.chance(0.25) ? draw.between(1, 3) * draw.between(6, 8) : draw.between(1, 5))
                .hasBias(draw.chance(0.5))
                .activation(draw.of(Activation.IDENTITY, Activation.IDENTITY, Activation.RELU))
                .build();
    }

    private static DepthwiseConvolution2D depthwise(Draw draw, InputType type) {
        DepthwiseConvolution2D.Builder builder = window(
                        draw, new DepthwiseConvolution2D.Builder(pair(draw, 1, 3), stride(draw), padding(draw)))
                .dataFormat(format(type))
                .depthMultiplier(draw.between(1, 2));
        return builder.build();
    }

    private static SeparableConvolution2D separable(Draw draw, InputType type) {
        return window(draw, new SeparableConvolution2D.Builder(pair(draw, 1, 3), stride(draw), padding(draw)))
                .dataFormat(format(type))
                .depthMultiplier(draw.between(1, 2))
                .build();
    }

    private static Deconvolution2D deconvolution(Draw draw, InputType type) {
        Deconvolution2D.Builder builder =
                window(draw, new Deconvolution2D.Builder(pair(draw, 1, 3), stride(draw), padding(draw)));
        builder.dataFormat(format(type));
        return builder.build();
    }

    private static SubsamplingLayer subsampling(Draw draw, InputType type) {
        SubsamplingLayer.PoolingType pooling = draw.of(
                SubsamplingLayer.PoolingType.MAX,
                SubsamplingLayer.PoolingType.MAX,
                SubsamplingLayer.PoolingType.AVG,
                SubsamplingLayer.PoolingType.AVG,
                SubsamplingLayer.PoolingType.PNORM);
        int[] window = pair(draw, 1, 3);
        SubsamplingLayer.Builder builder = new SubsamplingLayer.Builder(pooling, window, stride(draw));
        builder.convolutionMode(mode(draw));
        int[] padding = padding(draw);
        // A window without a number has the average NaN, and ND4J writes the gradient of its maximum outside of the
        // array.
        boolean mayBeEmpty = padding[0] >= window[0] || padding[1] >= window[1];
        builder.padding(mayBeEmpty ? new int[] {0, 0} : padding);
        builder.dataFormat(format(type));
        if (pooling == SubsamplingLayer.PoolingType.PNORM) {
            builder.pnorm(draw.between(2, 4));
        }
        return builder.build();
    }

    private static Upsampling2D upsampling(Draw draw, InputType type) {
        return new Upsampling2D.Builder(2)
                .size(pair(draw, 1, 2))
                .dataFormat(format(type))
                .build();
    }

    private static ZeroPaddingLayer padding(Draw draw, InputType type) {
        return new ZeroPaddingLayer.Builder(
                        draw.between(0, 2), draw.between(0, 2), draw.between(0, 2), draw.between(0, 2))
                .dataFormat(format(type))
                .build();
    }

    private static Cropping2D cropping(Draw draw, InputType type) {
        return new Cropping2D.Builder(draw.between(0, 1), draw.between(0, 1), draw.between(0, 1), draw.between(0, 1))
                .dataFormat(format(type))
                .build();
    }

    private static SpaceToDepthLayer spaceToDepth(Draw draw, InputType type) {
        return new SpaceToDepthLayer.Builder<>(2, format(type)).build();
    }

    /** Makes four examples of one, which a graph's vertices can take apart. */
    private static SpaceToBatchLayer spaceToBatch(Draw draw, InputType type) {
        InputType.InputTypeConvolutional images = (InputType.InputTypeConvolutional) type;
        // Their sums are even.
        int[] rows = {1, 1 + (int) (images.getHeight() % 2)};
        int[] columns = {(int) (images.getWidth() % 2), 0};
        return new SpaceToBatchLayer.Builder<>(new int[] {2, 2}, new int[][] {rows, columns})
                .dataFormat(images.getFormat())
                .build();
    }

    private static PrimaryCapsules primaryCapsules(Draw draw, InputType type) {
        PrimaryCapsules.Builder builder = new PrimaryCapsules.Builder(
                        draw.between(2, 3), draw.between(1, 2), pair(draw, 1, 2), pair(draw, 1, 2))
                .hasBias(draw.chance(0.5))
                .padding(padding(draw))
                .convolutionMode(draw.of(ConvolutionMode.Same, ConvolutionMode.Truncate));
        return draw.chance(0.4)
                ? builder.build()
                : builder.useLeakyReLU(draw.chance(0.5) ? 0 : 0.1).build();
    }

    private static LocalResponseNormalization responseNormalization(Draw draw, InputType type) {
        int channels = (int) channels(type);
        return new LocalResponseNormalization.Builder()
                // Stock DL4J throws at neighbours that are as far away as there are channels.
                .n(draw.between(0, Math.min(9, 2 * channels - 1)))
                .k(draw.real(1, 2))
                // Stock DL4J divides its neighbours' parts of the gradient by the wrong sum, which shows with a large
                // one, and in networks that diverge.
                .alpha(1e-9)
                .beta(0.75)
                .dataFormat(format(type))
                .build();
    }

    /** Of windows of one number, stock DL4J's gradient of the input of one example is wrong. */
    private static LocallyConnected2D locallyConnected(Draw draw, InputType type) {
        int[] window = pair(draw, 1, 2);
        boolean isOneNumber = channels(type) == 1 && window[0] * window[1] == 1;
        return new LocallyConnected2D.Builder()
                .kernelSize(isOneNumber ? new int[] {1, 2} : window)
                .stride(1, 1)
                .convolutionMode(ConvolutionMode.Truncate)
                .dataFormat(format(type))
                .nOut(draw.between(1, 3))
                .hasBias(draw.chance(0.5))
                .activation(draw.of(Activation.IDENTITY, Activation.TANH, Activation.SIGMOID))
                .build();
    }
}
