package org.dl4jamp.onednn;

import org.bytedeco.dnnl.global.dnnl;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The positions that a window of one position sees as it moves over an input in steps, packed into an array of their own: averages of one number
 * each.
 */
final class Samples implements AutoCloseable {
    private final PoolingKernels averages;
    private final INDArray packed;

    private Samples(PoolingKernels averages, INDArray packed) {
        this.averages = averages;
        this.packed = packed;
    }

    /**
     * Those of one shape.
     *
     * @param layer for error messages
     * @param geometry a window of one position
     * @param input how the input lies in memory
     */
    static Samples make(OneDnnContext context, String layer, WindowGeometry geometry, Layout input) {
        PoolingKernels averages =
                PoolingKernels.make(context, layer, dnnl.algorithm.pooling_avg_exclude_padding, geometry, false, input);
        INDArray packed = Workspaces.channelsLast(
                LayerWorkspaceMgr.noWorkspaces(), ArrayType.INPUT, input.type(), averages.outputShape());
        return new Samples(averages, packed);
    }

    /** How they lie in memory. */
    Layout layout() {
        return Layout.of(packed);
    }

    /** Those of an input. */
    INDArray take(INDArray input) {
        averages.forward(input, packed);
        return packed;
    }

    /** Where the gradient of what {@link #take} returned goes. */
    INDArray gradient() {
        return packed;
    }

    /** Puts the gradients where the samples were taken from, and zeros everywhere else. */
    void spread(INDArray inputGradient) {
        averages.backward(packed, inputGradient);
    }

    @Override
    public void close() {
        averages.close();
    }
}
