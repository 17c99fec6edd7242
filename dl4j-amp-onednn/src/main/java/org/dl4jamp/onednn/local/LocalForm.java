package org.dl4jamp.onednn.local;

import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
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
 * @param axes along which windows move
 */
record LocalForm(List<Axis> axes, long nIn, long nOut, boolean hasBias, Activation activation, ChannelAxis channels) {
    /**
     * The windows along one axis.
     *
     * @param kernel how many numbers a window covers
     * @param before the padding in front of the axis
     * @param after the padding behind it
     * @param windows how many there are
     */
    record Axis(int kernel, int stride, int before, int after, int windows) {
        /** Returns the size of an array of which each window covers something. */
        private long needed() {
            return (long) (windows - 1) * stride + kernel;
        }

        int padding() {
            return before + after;
        }
    }

    /** Those that SameDiff computes as the functions of DL4J's other layers. */
    private static final Set<Activation> FUNCTIONS =
            Set.of(Activation.IDENTITY, Activation.RELU, Activation.SIGMOID, Activation.TANH, Activation.SOFTPLUS);

    static LocalForm of(Layer layer) {
        if (layer instanceof LocallyConnected1D sequence) {
            int behind = sequence.getCm() == ConvolutionMode.Same ? sequence.getPaddingR() : sequence.getPadding();
            Axis time = new Axis(
                    sequence.getKernel(),
                    sequence.getStride(),
                    sequence.getPadding(),
                    behind,
                    sequence.getOutputSize());
            return new LocalForm(
                    List.of(time),
                    sequence.getNIn(),
                    sequence.getNOut(),
                    sequence.isHasBias(),
                    sequence.getActivation(),
                    ChannelAxis.SECOND);
        }
        LocallyConnected2D images = (LocallyConnected2D) layer;
        int[] behind = images.getCm() == ConvolutionMode.Same ? images.getPaddingBr() : images.getPadding();
        List<Axis> axes = IntStream.range(0, 2)
                .mapToObj(axis -> new Axis(
                        images.getKernel()[axis],
                        images.getStride()[axis],
                        images.getPadding()[axis],
                        behind[axis],
                        images.getOutputSize()[axis]))
                .toList();
        return new LocalForm(
                axes,
                images.getNIn(),
                images.getNOut(),
                images.isHasBias(),
                images.getActivation(),
                ChannelAxis.of(images.getFormat()));
    }

    static boolean has(Activation activation) {
        return FUNCTIONS.contains(activation);
    }

    long windows() {
        return axes.stream().mapToLong(Axis::windows).reduce(1, (a, b) -> a * b);
    }

    /** Returns how many numbers a window covers. */
    long covered() {
        return axes.stream().mapToLong(Axis::kernel).reduce(nIn, (a, b) -> a * b);
    }

    boolean pads() {
        return axes.stream().anyMatch(axis -> axis.padding() > 0);
    }

    /** Returns whether an input, given with its channels as the second axis, has all that windows cover. */
    boolean fits(INDArray given) {
        return given.rank() == axes.size() + 2
                && given.size(1) == nIn
                && IntStream.range(0, axes.size()).allMatch(number -> {
                    Axis axis = axes.get(number);
                    return given.size(number + 2) + axis.padding() >= axis.needed();
                });
    }

    /** Returns the shape of an array with its padding. */
    long[] padded(long... shape) {
        long[] padded = shape.clone();
        for (int number = 0; number < axes.size(); number++) {
            padded[number + 2] += axes.get(number).padding();
        }
        return padded;
    }

    /**
     * Returns where a window begins along an axis. DL4J counts windows of images column by column, and puts their
     * results into rows.
     */
    long begin(long window, int number) {
        int first = axes.get(0).windows();
        long along = number == 0 ? window % first : window / first;
        return along * axes.get(number).stride();
    }
}
