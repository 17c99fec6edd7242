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
 * The im2col matrix of a convolution, with a row for each place of the kernel: {@code [minibatch * outHeight *
 * outWidth, channels * kernelHeight * kernelWidth]}. With it a convolution is a matrix product.
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

    long rows() {
        return minibatch * outHeight * outWidth;
    }

    long rowsOfExample() {
        return (long) outHeight * outWidth;
    }

    long columns() {
        return channels * kernel[0] * kernel[1];
    }

    /** Returns the patches, HALF {@code [rows, columns]}, of HALF {@code [minibatch, channels, height, width]}. */
    INDArray of(INDArray image, WorkingMemory memory) {
        if (areSinglePixels()) {
            INDArray channelsLast = image.permute(0, 2, 3, 1);
            INDArray contiguous = isContiguous(channelsLast)
                    ? channelsLast
                    : memory.create(DataType.HALF, 'c', channelsLast.shape()).assign(channelsLast);
            return contiguous.reshape('c', rows(), columns());
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
        return patches.reshape('c', rows(), columns());
    }

    /**
     * Adds FLOAT patches {@code [rows, columns]}, which are contiguous, up where they overlap: FLOAT {@code [minibatch,
     * height, width, channels]}.
     */
    INDArray sum(INDArray patches, WorkingMemory memory) {
        if (areSinglePixels()) {
            return patches.reshape('c', minibatch, height, width, channels);
        }
        INDArray sum = memory.create(DataType.FLOAT, 'c', minibatch, height, width, channels);
        Convolution.col2im(
                asImageOperationsWant(patches.reshape('c', shape())),
                sum.permute(0, 3, 1, 2),
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

    /** Splits the rows of a matrix: {@code [minibatch, size, outHeight, outWidth]}, a view. */
    INDArray rowsToImages(INDArray matrix) {
        return matrix.reshape('c', minibatch, outHeight, outWidth, matrix.size(1))
                .permute(0, 3, 1, 2);
    }

    /** Copies images {@code [minibatch, size, outHeight, outWidth]} into the rows of a FLOAT matrix. */
    INDArray imagesToRows(INDArray images, WorkingMemory memory) {
        return memory.create(DataType.FLOAT, 'c', minibatch, outHeight, outWidth, images.size(1))
                .assign(images.permute(0, 2, 3, 1))
                .reshape('c', rows(), images.size(1));
    }

    private boolean areSinglePixels() {
        return Arrays.stream(kernel).allMatch(size -> size == 1)
                && Arrays.stream(stride).allMatch(step -> step == 1)
                && Arrays.stream(padding).allMatch(pixels -> pixels == 0);
    }

    private long[] shape() {
        return new long[] {minibatch, outHeight, outWidth, channels, kernel[0], kernel[1]};
    }

    /** {@code [minibatch, channels, kernelHeight, kernelWidth, outHeight, outWidth]}. */
    private static INDArray asImageOperationsWant(INDArray patches) {
        return patches.permute(0, 3, 4, 5, 1, 2);
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
