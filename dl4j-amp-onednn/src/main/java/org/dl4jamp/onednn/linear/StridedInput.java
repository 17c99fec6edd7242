package org.dl4jamp.onednn.linear;

import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.pooling.PoolingKernels;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.WindowGeometry;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The positions of an input that are multiplied. Without strides these are all positions, in place. With strides a
 * window of one position selects them, packed into memory that the network's kernels share.
 */
final class StridedInput implements InputSamples {
    private final Layout layout;
    /** Averages of one number, which copy it; null if all positions are multiplied. */
    private final PoolingKernels averages;

    private final AlignedMemory packed;

    private StridedInput(Layout layout, PoolingKernels averages, AlignedMemory packed) {
        this.layout = layout;
        this.averages = averages;
        this.packed = packed;
    }

    /** Selects all positions of an input. */
    static StridedInput all(Layout input) {
        return new StridedInput(input, null, null);
    }

    /**
     * Selects the positions under a window.
     *
     * @param layer for error messages
     * @param geometry a window of one position
     * @param input the layout of the input
     */
    static StridedInput of(OneDnnContext context, String layer, WindowGeometry geometry, Layout input) {
        PoolingKernels averages = PoolingKernels.make(
                context, layer, dnnl.algorithm.pooling_avg_exclude_padding, geometry.withoutGaps(), false, input);
        Layout layout = Layout.channelsLast(input.type(), averages.outputShape());
        context.staging().reserve(layout.length() * layout.type().width());
        return new StridedInput(layout, averages, context.staging());
    }

    @Override
    public Layout layout() {
        return layout;
    }

    @Override
    public Place take(INDArray input) {
        if (averages == null) {
            return Place.of(input);
        }
        averages.forward(Place.of(input), packed());
        return packed();
    }

    private Place packed() {
        return Place.kept(packed.address());
    }

    @Override
    public Place gradient(INDArray inputGradient) {
        return averages == null ? Place.of(inputGradient) : packed();
    }

    @Override
    public void spread(INDArray inputGradient) {
        if (averages != null) {
            averages.backward(packed(), Place.of(inputGradient));
        }
    }

    @Override
    public void close() {
        if (averages != null) {
            averages.close();
        }
    }
}
