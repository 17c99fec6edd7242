package org.dl4jamp.onednn.twin;

import java.util.Arrays;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.util.ConvolutionUtils;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Broadcast;

/**
 * The mask after a one-dimensional convolution or pooling: a time step counts if its window covers one that counts.
 *
 * @param steps {@code [minibatch, steps]}, ones and zeros
 */
public record SequenceMask(INDArray steps) {
    /** Returns the mask of a layer's output from that of its input. */
    public static SequenceMask of(ConvolutionLayer layer, INDArray input) {
        return reduced(
                input,
                layer.getKernelSize(),
                layer.getStride(),
                layer.getPadding(),
                layer.getDilation(),
                layer.getConvolutionMode());
    }

    /** Returns the mask of a layer's output from that of its input. */
    public static SequenceMask of(SubsamplingLayer layer, INDArray input) {
        return reduced(
                input,
                layer.getKernelSize(),
                layer.getStride(),
                layer.getPadding(),
                layer.getDilation(),
                layer.getConvolutionMode());
    }

    private static SequenceMask reduced(
            INDArray input, int[] kernel, int[] stride, int[] padding, int[] dilation, ConvolutionMode mode) {
        // DL4J's reduction takes FP32 only.
        return new SequenceMask(ConvolutionUtils.cnn1dMaskReduction(
                input.castTo(DataType.FLOAT), kernel[0], stride[0], padding[0], dilation[0], mode));
    }

    /** Makes the steps of an array {@code [minibatch, channels, steps]} that don't count zero. */
    public void applyTo(INDArray sequences) {
        if (sequences.size(0) != steps.size(0) || sequences.size(2) != steps.size(1)) {
            throw new DL4JInvalidInputException("Activations of shape " + Arrays.toString(sequences.shape())
                    + " and mask of shape " + Arrays.toString(steps.shape()) + " don't match in axes 0, 2 and 0, 1");
        }
        Broadcast.mul(sequences, steps.castTo(sequences.dataType()), sequences, 0, 2);
    }
}
