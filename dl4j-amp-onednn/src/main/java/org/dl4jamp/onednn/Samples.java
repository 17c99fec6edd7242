package org.dl4jamp.onednn;

import org.bytedeco.dnnl.global.dnnl;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The positions of an input that are multiplied: all of them where they are, or those that a window of one position sees as it moves in steps,
 * packed into an array of their own.
 */
final class Samples implements AutoCloseable {
    private final Layout layout;
    /** Of one number each, which is that number; null if all positions are multiplied. */
    private final PoolingKernels averages;

    private final INDArray packed;

    private Samples(Layout layout, PoolingKernels averages, INDArray packed) {
        this.layout = layout;
        this.averages = averages;
        this.packed = packed;
    }

    /** All positions of an input. */
    static Samples all(Layout input) {
        return new Samples(input, null, null);
    }

    /**
     * Those that a window sees.
     *
     * @param layer for error messages
     * @param geometry a window of one position
     * @param input how the input lies in memory
     */
    static Samples of(OneDnnContext context, String layer, WindowGeometry geometry, Layout input) {
        PoolingKernels averages = PoolingKernels.make(
                context, layer, dnnl.algorithm.pooling_avg_exclude_padding, geometry.withoutGaps(), false, input);
        Layout layout = Layout.channelsLast(input.type(), averages.outputShape());
        INDArray packed = Workspaces.channelsLast(
                LayerWorkspaceMgr.noWorkspaces(), ArrayType.INPUT, input.type(), averages.outputShape());
        return new Samples(layout, averages, packed);
    }

    /** How they lie in memory. */
    Layout layout() {
        return layout;
    }

    /** Those of an input. */
    INDArray take(INDArray input) {
        if (averages == null) {
            return input;
        }
        averages.forward(input, packed, null);
        return packed;
    }

    /** Where their gradient is to be written, before {@link #spread}. */
    INDArray gradient(INDArray inputGradient) {
        return averages == null ? inputGradient : packed;
    }

    /** Puts their gradient where they were taken from, and zeros everywhere else. */
    void spread(INDArray inputGradient) {
        if (averages != null) {
            averages.backward(packed, inputGradient, null);
        }
    }

    @Override
    public void close() {
        if (averages != null) {
            averages.close();
        }
    }
}
