package org.dl4jamp.onednn.twin;

import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.cpu.nativecpu.NDArray;
import org.nd4j.linalg.cpu.nativecpu.buffer.LongBuffer;

/**
 * A gradient in channels-last order. A ComputationGraph adds those of other consumers of the same activations to it,
 * with {@link INDArray#addi(INDArray)}. ND4J's addition takes forty times as long in that order as in its own, so
 * oneDNN adds for this array. In all else it is the array whose numbers and shape it shares.
 */
// ND4J's own array class overrides methods of its interface without '...'.
@SuppressWarnings("overrides")
public final class GradientSum extends NDArray {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient Layout layout;

    private GradientSum(INDArray sum, Layout layout, OneDnnContext context) {
        super(sum.data(), (LongBuffer) sum.shapeInfoDataBuffer(), sum.shapeInfoJava());
        this.layout = layout;
        this.context = context;
    }

    /** Returns the gradient as an array that adds fast, or itself if ND4J is fast in its order in memory. */
    public static INDArray of(INDArray gradient, OneDnnContext context) {
        if (gradient.rank() <= 2) {
            return gradient;
        }
        Layout channelsLast = Layout.channelsLast(gradient.dataType(), gradient.shape());
        return channelsLast.isThatOf(gradient) ? new GradientSum(gradient, channelsLast, context) : gradient;
    }

    @Override
    public INDArray addi(INDArray other) {
        boolean added = layout.isThatOf(other) && context.sums().add(other, this);
        return added ? this : super.addi(other);
    }
}
