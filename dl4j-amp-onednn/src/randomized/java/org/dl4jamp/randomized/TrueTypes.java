package org.dl4jamp.randomized;

import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.Subsampling3DLayer;

/**
 * Types of what layers compute, also where DL4J's own are wrong: a network built on wrong types fails in its first
 * pass, in native code at worst.
 */
final class TrueTypes {
    private TrueTypes() {}

    /**
     * Returns the type behind a layer.
     *
     * @param before the type in front of it, behind its preprocessor
     * @param claimed DL4J's type behind it
     * @param steps how many time steps there are where DL4J has lost their number
     */
    static InputType behind(Layer layer, InputType before, InputType claimed, int steps) {
        if (layer instanceof GlobalPoolingLayer && before instanceof InputType.InputTypeRecurrent sequence) {
            // DL4J returns the type of the sequence.
            return InputType.feedForward(sequence.getSize());
        }
        if (before instanceof InputType.InputTypeConvolutional3D in
                && claimed instanceof InputType.InputTypeConvolutional3D out) {
            return volume(layer, in, out);
        }
        return withSteps(claimed, steps);
    }

    /** Returns the type with the number of steps, which DL4J loses in its preprocessors and bidirectional layers. */
    static InputType withSteps(InputType type, int steps) {
        return type instanceof InputType.InputTypeRecurrent sequence && sequence.getTimeSeriesLength() < 0
                ? InputType.recurrent(sequence.getSize(), steps, sequence.getFormat())
                : type;
    }

    /**
     * Returns a volume's type. DL4J's loses the format, mixes up the axes behind a deconvolution, and takes the stride
     * of the height for that of the width.
     */
    private static InputType volume(
            Layer layer, InputType.InputTypeConvolutional3D in, InputType.InputTypeConvolutional3D out) {
        long[] extents = {in.getDepth(), in.getHeight(), in.getWidth()};
        if (layer instanceof Deconvolution3D transposed) {
            for (int i = 0; i < extents.length; i++) {
                extents[i] = transposed.getConvolutionMode() == ConvolutionMode.Same
                        ? extents[i] * transposed.getStride()[i]
                        : (extents[i] - 1) * transposed.getStride()[i]
                                + transposed.getKernelSize()[i];
            }
        } else if (layer instanceof Convolution3D convolution) {
            slide(extents, convolution.getKernelSize(), convolution.getStride(), convolution.getConvolutionMode());
        } else if (layer instanceof Subsampling3DLayer pooling) {
            slide(extents, pooling.getKernelSize(), pooling.getStride(), pooling.getConvolutionMode());
        } else {
            extents = new long[] {out.getDepth(), out.getHeight(), out.getWidth()};
        }
        return InputType.convolutional3D(in.getDataFormat(), extents[0], extents[1], extents[2], out.getChannels());
    }

    private static void slide(long[] extents, int[] kernel, int[] stride, ConvolutionMode mode) {
        for (int i = 0; i < extents.length; i++) {
            extents[i] = mode == ConvolutionMode.Same
                    ? (extents[i] + stride[i] - 1) / stride[i]
                    : extents[i] < kernel[i] ? 0 : (extents[i] - kernel[i]) / stride[i] + 1;
        }
    }
}
