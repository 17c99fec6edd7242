package org.dl4jamp.onednn.shape;

import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.ZeroPadding1DLayer;
import org.deeplearning4j.nn.conf.layers.ZeroPadding3DLayer;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping1D;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping2D;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping3D;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.INDArrayIndex;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * The zeros that one of DL4J's layers adds around arrays, or the margins that it cuts off.
 *
 * @param sizes before and after the numbers of each axis
 */
record Margins(boolean adds, List<Integer> sizes, ChannelAxis channels) {
    static Margins of(Layer layer) {
        if (layer instanceof ZeroPadding1DLayer sequence) {
            return new Margins(true, list(sequence.getPadding()), ChannelAxis.SECOND);
        }
        if (layer instanceof ZeroPadding3DLayer volume) {
            return new Margins(true, list(volume.getPadding()), ChannelAxis.SECOND);
        }
        if (layer instanceof Cropping1D sequence) {
            return new Margins(false, list(sequence.getCropping()), ChannelAxis.SECOND);
        }
        if (layer instanceof Cropping2D images) {
            return new Margins(false, list(images.getCropping()), ChannelAxis.of(images.getDataFormat()));
        }
        if (layer instanceof Cropping3D volume) {
            return new Margins(false, list(volume.getCropping()), ChannelAxis.SECOND);
        }
        ZeroPaddingLayer images = (ZeroPaddingLayer) layer;
        return new Margins(true, list(images.getPadding()), ChannelAxis.of(images.getDataFormat()));
    }

    private static List<Integer> list(int[] sizes) {
        return Arrays.stream(sizes).boxed().toList();
    }

    private int before(int axis) {
        return sizes.get(2 * axis);
    }

    private int after(int axis) {
        return sizes.get(2 * axis + 1);
    }

    private int axes() {
        return sizes.size() / 2;
    }

    /**
     * Returns whether there is something left between the margins of an array, given with its channels as the second
     * axis.
     */
    boolean fit(INDArray array) {
        if (array.rank() != 2 + axes()) {
            return false;
        }
        for (int axis = 0; axis < axes(); axis++) {
            if (!adds && array.size(axis + 2) <= before(axis) + after(axis)) {
                return false;
            }
        }
        return true;
    }

    /** Returns the shape of the layer's output. */
    long[] outputShape(INDArray array) {
        long[] shape = array.shape().clone();
        for (int axis = 0; axis < axes(); axis++) {
            long both = (long) before(axis) + after(axis);
            shape[axis + 2] += adds ? both : -both;
        }
        return shape;
    }

    /** Returns a view of an array without its margins. */
    INDArray inside(INDArray array) {
        INDArrayIndex[] indices = new INDArrayIndex[array.rank()];
        indices[0] = NDArrayIndex.all();
        indices[1] = NDArrayIndex.all();
        for (int axis = 0; axis < axes(); axis++) {
            indices[axis + 2] = NDArrayIndex.interval(before(axis), array.size(axis + 2) - after(axis));
        }
        return array.get(indices);
    }
}
