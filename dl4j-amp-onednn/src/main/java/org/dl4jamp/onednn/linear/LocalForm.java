package org.dl4jamp.onednn.linear;

import java.util.Set;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocallyConnected1D;
import org.deeplearning4j.nn.conf.layers.LocallyConnected2D;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The form of a locally connected layer, which has weights of its own for each window.
 *
 * @param before the padding in front of each axis
 * @param after the padding behind each axis
 * @param output how many windows there are along each axis
 */
record LocalForm(
        int[] kernel,
        int[] stride,
        int[] before,
        int[] after,
        int[] output,
        long nIn,
        long nOut,
        boolean hasBias,
        Activation activation,
        ChannelAxis channels) {
    /** Those that SameDiff computes as the functions of DL4J's other layers. */
    private static final Set<Activation> FUNCTIONS =
            Set.of(Activation.IDENTITY, Activation.RELU, Activation.SIGMOID, Activation.TANH, Activation.SOFTPLUS);

    static LocalForm of(Layer layer) {
        if (layer instanceof LocallyConnected1D sequence) {
            int behind = sequence.getCm() == ConvolutionMode.Same ? sequence.getPaddingR() : sequence.getPadding();
            return new LocalForm(
                    new int[] {sequence.getKernel()},
                    new int[] {sequence.getStride()},
                    new int[] {sequence.getPadding()},
                    new int[] {behind},
                    new int[] {sequence.getOutputSize()},
                    sequence.getNIn(),
                    sequence.getNOut(),
                    sequence.isHasBias(),
                    sequence.getActivation(),
                    ChannelAxis.SECOND);
        }
        LocallyConnected2D images = (LocallyConnected2D) layer;
        return new LocalForm(
                images.getKernel(),
                images.getStride(),
                images.getPadding(),
                images.getCm() == ConvolutionMode.Same ? images.getPaddingBr() : images.getPadding(),
                images.getOutputSize(),
                images.getNIn(),
                images.getNOut(),
                images.isHasBias(),
                images.getActivation(),
                ChannelAxis.of(images.getFormat()));
    }

    static boolean has(Activation activation) {
        return FUNCTIONS.contains(activation);
    }

    int axes() {
        return kernel.length;
    }

    long windows() {
        long windows = 1;
        for (int along : output) {
            windows *= along;
        }
        return windows;
    }

    /** Returns how many numbers a window covers. */
    long covered() {
        long numbers = nIn;
        for (int along : kernel) {
            numbers *= along;
        }
        return numbers;
    }

    boolean pads() {
        for (int axis = 0; axis < axes(); axis++) {
            if (before[axis] + after[axis] > 0) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether an input, given with its channels as the second axis, has all that windows cover. */
    boolean fits(INDArray given) {
        if (given.rank() != axes() + 2 || given.size(1) != nIn) {
            return false;
        }
        for (int axis = 0; axis < axes(); axis++) {
            long needed = (long) (output[axis] - 1) * stride[axis] + kernel[axis];
            if (given.size(axis + 2) + before[axis] + after[axis] < needed) {
                return false;
            }
        }
        return true;
    }

    /** Returns the shape of an array with its padding. */
    long[] padded(long... shape) {
        long[] padded = shape.clone();
        for (int axis = 0; axis < axes(); axis++) {
            padded[axis + 2] += before[axis] + after[axis];
        }
        return padded;
    }

    /**
     * Returns where a window begins along an axis. DL4J counts windows of images column by column, and puts their
     * results into rows.
     */
    long begin(long window, int axis) {
        long along = axes() == 1 ? window : axis == 0 ? window % output[0] : window / output[0];
        return along * stride[axis];
    }
}
