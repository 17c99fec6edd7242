package org.dl4jamp.onednn.linear;

import org.bytedeco.javacpp.Pointer;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Handle;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.WindowGeometry;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The padding that the windows of a convolution cover where none covers a number of the input. It is an array of zeros,
 * in memory that the network's kernels share. oneDNN reads invalid memory if all windows are outside of an array.
 */
final class PaddingInput implements InputSamples {
    private final Layout layout;
    private final AlignedMemory zeros;

    /**
     * @param geometry the windows, which cover an array without padding
     * @param input the layout of the input
     */
    PaddingInput(OneDnnContext context, WindowGeometry geometry, Layout input) {
        this.layout = Layout.channelsLast(
                input.type(), Workspaces.shape(input.shape()[0], input.shape()[1], geometry.reach()));
        this.zeros = context.staging();
        zeros.reserve(bytes());
    }

    private long bytes() {
        return layout.length() * layout.type().width();
    }

    @Override
    public Layout layout() {
        return layout;
    }

    @Override
    public Place take(INDArray input) {
        Pointer.memset(new Handle().at(zeros.address()), 0, bytes());
        return Place.kept(zeros.address());
    }

    @Override
    public Place gradient(INDArray inputGradient) {
        return Place.kept(zeros.address());
    }

    @Override
    public void spread(INDArray inputGradient) {
        inputGradient.assign(0);
    }

    /** The memory is the network's. */
    @Override
    public void close() {}
}
