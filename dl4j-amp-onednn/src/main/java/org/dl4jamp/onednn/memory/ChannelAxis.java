package org.dl4jamp.onednn.memory;

import java.util.Arrays;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The axis of a layer's arrays that holds the channels. In oneDNN it is the second, whatever comes last in memory. An
 * array in DL4J's format {@code NHWC} is channels-last already; only its axes are counted in another order.
 */
public enum ChannelAxis {
    /** {@code NCHW} and similar. */
    SECOND,
    /** {@code NHWC} and similar. */
    LAST;

    public static ChannelAxis of(CNN2DFormat format) {
        return format == CNN2DFormat.NCHW ? SECOND : LAST;
    }

    public static ChannelAxis of(RNNFormat format) {
        return format == RNNFormat.NCW ? SECOND : LAST;
    }

    public static ChannelAxis of(Convolution3D.DataFormat format) {
        return format == Convolution3D.DataFormat.NCDHW ? SECOND : LAST;
    }

    /** Returns a view of a layer's array that has the channels as its second axis. */
    public INDArray toSecond(INDArray array) {
        return this == LAST ? Workspaces.lastAxisSecond(array) : array;
    }

    /** Returns the shape that the layer's neighbours expect of an array with the channels as its second axis. */
    public long[] fromSecond(long... shape) {
        if (this == SECOND || shape.length < 3) {
            return shape;
        }
        return Arrays.stream(Layout.axesOfChannelsLast(shape.length))
                .mapToLong(axis -> shape[axis])
                .toArray();
    }

    /** Returns the view that the layer's neighbours expect of an array with the channels as its second axis. */
    public INDArray fromSecond(INDArray array) {
        return this == LAST ? Workspaces.contiguous(array) : array;
    }
}
