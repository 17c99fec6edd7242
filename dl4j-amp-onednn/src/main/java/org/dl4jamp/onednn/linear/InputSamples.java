package org.dl4jamp.onednn.linear;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.javacpp.Pointer;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Handle;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.pooling.PoolingKernels;
import org.dl4jamp.onednn.pooling.WindowGeometry;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.SideBySide;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The numbers of an input that a kernel multiplies: all of them in place, or others in memory that the network's
 * kernels share.
 */
final class InputSamples implements AutoCloseable {
    private final Layout layout;
    /** The memory for numbers that aren't read in place; null if they are. */
    private final AlignedMemory packed;
    /** Averages of one number, which copy it; null if none is copied. */
    private final PoolingKernels averages;
    /** Copies all numbers; null if they aren't copied. */
    private final SideBySide copy;

    private InputSamples(Layout layout, AlignedMemory packed, PoolingKernels averages) {
        this(layout, packed, averages, null);
    }

    private InputSamples(Layout layout, AlignedMemory packed, PoolingKernels averages, SideBySide copy) {
        this.layout = layout;
        this.packed = packed;
        this.averages = averages;
        this.copy = copy;
        if (packed != null) {
            packed.reserve(bytes());
        }
    }

    /** Selects all numbers of an input. */
    static InputSamples all(Layout input) {
        return new InputSamples(input, null, null);
    }

    /** Selects all numbers of images, and copies them into one long row; for forward passes. */
    static InputSamples sideBySide(OneDnnContext context, String layer, Layout input) {
        return new InputSamples(input, null, null, SideBySide.read(context, layer, input));
    }

    /** Selects the positions under a window of one position with strides. */
    static InputSamples under(OneDnnContext context, String layer, WindowGeometry geometry, Layout input) {
        PoolingKernels averages = PoolingKernels.make(
                context, layer, dnnl.algorithm.pooling_avg_exclude_padding, geometry.withoutGaps(), false, input);
        return new InputSamples(Layout.channelsLast(input.type(), averages.outputShape()), context.staging(), averages);
    }

    /**
     * Selects the padding under windows of which none covers a number of the input: oneDNN reads invalid memory if all
     * windows are outside of an array.
     *
     * @param geometry the windows, over an array of zeros without padding
     */
    static InputSamples padding(OneDnnContext context, WindowGeometry geometry, Layout input) {
        long[] shape = Workspaces.shape(input.shape()[0], input.shape()[1], geometry.reach());
        return new InputSamples(Layout.channelsLast(input.type(), shape), context.staging(), null);
    }

    private long bytes() {
        return layout.length() * layout.type().width();
    }

    Layout layout() {
        return layout;
    }

    private Place packed() {
        return Place.kept(packed.address());
    }

    /** Returns where those of an input are until the next kernel has run. */
    Place take(INDArray input) {
        if (copy != null) {
            return copy.take(input);
        }
        if (packed == null) {
            return Place.of(input);
        }
        if (averages == null) {
            Pointer.memset(new Handle().at(packed.address()), 0, bytes());
        } else {
            averages.forward(Place.of(input), packed());
        }
        return packed();
    }

    /** Returns where their gradient is to be written before {@link #spread}. */
    Place gradient(INDArray inputGradient) {
        return packed == null ? Place.of(inputGradient) : packed();
    }

    /** Puts their gradient where they were taken from, and zeros everywhere else. */
    void spread(INDArray inputGradient) {
        if (averages != null) {
            averages.backward(packed(), Place.of(inputGradient));
        } else if (packed != null) {
            inputGradient.assign(0);
        }
    }

    @Override
    public void close() {
        if (averages != null) {
            averages.close();
        }
        if (copy != null) {
            copy.close();
        }
    }
}
