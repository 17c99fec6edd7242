package org.dl4jamp.engine.nd4j;

import java.util.Arrays;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.util.ConvolutionUtils;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.convolution.Convolution;

/**
 * The im2col matrix of a convolution, with a column for each place of the kernel: {@code [channels * kernelHeight *
 * kernelWidth, minibatch * outHeight * outWidth]}. With it a convolution is a matrix product. Neighbours in an image
 * are neighbours in memory, which is what GPUs want.
 */
final class Im2Col {
    private final long minibatch;
    private final long channels;
    private final int height;
    private final int width;
    private final int outHeight;
    private final int outWidth;
    private final int[] kernel;
    private final int[] stride;
    private final int[] padding;
    private final int[] dilation;
    private final boolean same;

    /**
     * Reads kernel, stride, padding and dilation of a convolution, and the shape {@code [minibatch, channels, height,
     * width]} of images. The mode is the treatment of borders.
     */
    Im2Col(ConvolutionLayer convolution, ConvolutionMode mode, INDArray image) {
        this.minibatch = image.size(0);
        this.channels = image.size(1);
        this.height = (int) image.size(2);
        this.width = (int) image.size(3);
        this.kernel = convolution.getKernelSize();
        this.stride = convolution.getStride();
        this.dilation = convolution.getDilation();
        this.same = mode == ConvolutionMode.Same;
        int[] given = same ? null : convolution.getPadding();
        int[] out = ConvolutionUtils.getOutputSize(image, kernel, stride, given, mode, dilation, CNN2DFormat.NCHW);
        this.outHeight = out[0];
        this.outWidth = out[1];
        this.padding = same
                ? ConvolutionUtils.getSameModeTopLeftPadding(out, new int[] {height, width}, kernel, stride, dilation)
                : given;
    }

    /** Returns how often the kernel is applied, in all examples together. */
    long places() {
        return minibatch * placesInExample();
    }

    long placesInExample() {
        return (long) outHeight * outWidth;
    }

    /** Returns the length of a patch. */
    long terms() {
        return channels * kernel[0] * kernel[1];
    }

    /** Returns the patches, HALF {@code [terms, places]}, of HALF {@code [minibatch, channels, height, width]}. */
    INDArray of(INDArray image, WorkingMemory memory) {
        if (areSinglePixels()) {
            return rows(image, DataType.HALF, memory);
        }
        INDArray patches = memory.create(DataType.HALF, 'c', shape());
        Convolution.im2col(
                image,
                kernel[0],
                kernel[1],
                stride[0],
                stride[1],
                padding[0],
                padding[1],
                dilation[0],
                dilation[1],
                same,
                asImageOperationsWant(patches));
        return patches.reshape('c', terms(), places());
    }

    /**
     * Adds FLOAT patches {@code [terms, places]}, which are contiguous, up where they overlap: FLOAT {@code [minibatch,
     * channels, height, width]}, a view.
     */
    INDArray sum(INDArray patches, WorkingMemory memory) {
        if (areSinglePixels()) {
            return images(patches, height, width);
        }
        INDArray sum = memory.create(DataType.FLOAT, 'c', minibatch, channels, height, width);
        Convolution.col2im(
                asImageOperationsWant(patches.reshape('c', shape())),
                sum,
                stride[0],
                stride[1],
                padding[0],
                padding[1],
                height,
                width,
                dilation[0],
                dilation[1]);
        return sum;
    }

    /** Splits the columns of a matrix: {@code [minibatch, size, outHeight, outWidth]}, a view. */
    INDArray images(INDArray matrix) {
        return images(matrix, outHeight, outWidth);
    }

    private INDArray images(INDArray matrix, int height, int width) {
        return matrix.reshape('c', matrix.size(0), minibatch, height, width).permute(1, 0, 2, 3);
    }

    /**
     * Returns images {@code [minibatch, size, height, width]} as a matrix with a row for each channel: a view if they
     * are contiguous that way and have the type, else a copy.
     */
    static INDArray rows(INDArray images, DataType type, WorkingMemory memory) {
        INDArray channelsFirst = images.permute(1, 0, 2, 3);
        INDArray contiguous = images.dataType() == type && isContiguous(channelsFirst)
                ? channelsFirst
                : memory.create(type, 'c', channelsFirst.shape()).assign(channelsFirst);
        return contiguous.reshape('c', images.size(1), images.length() / images.size(1));
    }

    private boolean areSinglePixels() {
        return Arrays.stream(kernel).allMatch(size -> size == 1)
                && Arrays.stream(stride).allMatch(step -> step == 1)
                && Arrays.stream(padding).allMatch(pixels -> pixels == 0);
    }

    private long[] shape() {
        return new long[] {channels, kernel[0], kernel[1], minibatch, outHeight, outWidth};
    }

    /** {@code [minibatch, channels, kernelHeight, kernelWidth, outHeight, outWidth]}. */
    private static INDArray asImageOperationsWant(INDArray patches) {
        return patches.permute(3, 0, 1, 2, 4, 5);
    }

    private static boolean isContiguous(INDArray array) {
        long expected = 1;
        for (int axis = array.rank() - 1; axis >= 0; axis--) {
            if (array.size(axis) != 1 && array.stride(axis) != expected) {
                return false;
            }
            expected *= array.size(axis);
        }
        return true;
    }
}
