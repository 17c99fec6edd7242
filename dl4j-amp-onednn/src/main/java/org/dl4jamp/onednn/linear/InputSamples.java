package org.dl4jamp.onednn.linear;

import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Gather;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.pooling.PoolingKernels;
import org.dl4jamp.onednn.pooling.SideBySide;
import org.dl4jamp.onednn.pooling.WindowCopies;
import org.dl4jamp.onednn.pooling.WindowGeometry;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Tape;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The numbers of an input that a kernel multiplies: all of them in place, or others in memory that the network's
 * kernels share.
 */
abstract class InputSamples implements AutoCloseable {
    private final Layout layout;

    private InputSamples(Layout layout) {
        this.layout = layout;
    }

    /** Selects all numbers of an input. */
    static InputSamples all(Layout input) {
        return new All(input);
    }

    /** Selects all numbers of images, and copies them into one long row; for forward passes. */
    static InputSamples sideBySide(OneDnnContext context, String layer, Layout input) {
        return new InOneRow(input, SideBySide.read(context, layer, input));
    }

    /** Selects the numbers under each window, and copies them; for forward passes. */
    static InputSamples windows(OneDnnContext context, String layer, WindowGeometry geometry, Layout input) {
        return new Gathered(context, WindowCopies.layout(geometry, input), WindowCopies.of(layer, geometry, input));
    }

    /** Selects the positions under a window of one position with strides. */
    static InputSamples under(OneDnnContext context, String layer, WindowGeometry geometry, Layout input) {
        PoolingKernels averages = PoolingKernels.make(
                context, layer, dnnl.algorithm.pooling_avg_exclude_padding, geometry.withoutGaps(), false, input);
        return new Averaged(context, averages, input);
    }

    /**
     * Selects the padding under windows of which none covers a number of the input: oneDNN reads invalid memory if all
     * windows are outside of an array.
     *
     * @param geometry the windows, over an array of zeros without padding
     */
    static InputSamples padding(OneDnnContext context, String layer, WindowGeometry geometry, Layout input) {
        Layout layout = Layout.channelsLast(
                input.type(), Workspaces.shape(input.shape()[0], input.shape()[1], geometry.reach()));
        return new Padding(context, layout, layer + ": padding under " + geometry);
    }

    private static long bytes(Layout layout) {
        return layout.length() * layout.type().width();
    }

    Layout layout() {
        return layout;
    }

    /** Returns where those of an input are until the next kernel has run. */
    abstract Place take(INDArray input);

    /** Returns where their gradient is to be written before {@link #spread}. */
    Place gradient(INDArray inputGradient) {
        throw new UnsupportedOperationException(getClass().getSimpleName() + " is for forward passes");
    }

    /** Puts their gradient where they were taken from, and zeros everywhere else. */
    void spread(INDArray inputGradient) {
        throw new UnsupportedOperationException(getClass().getSimpleName() + " is for forward passes");
    }

    @Override
    public void close() {}

    private static final class All extends InputSamples {
        All(Layout input) {
            super(input);
        }

        @Override
        Place take(INDArray input) {
            return Place.of(input);
        }

        @Override
        Place gradient(INDArray inputGradient) {
            return Place.of(inputGradient);
        }

        @Override
        void spread(INDArray inputGradient) {}
    }

    private static final class InOneRow extends InputSamples {
        private final SideBySide copy;

        InOneRow(Layout input, SideBySide copy) {
            super(input);
            this.copy = copy;
        }

        @Override
        Place take(INDArray input) {
            return copy.take(input);
        }

        @Override
        public void close() {
            copy.close();
        }
    }

    /** Numbers that are copied to memory that the network's kernels share. */
    private abstract static class Packed extends InputSamples {
        private final AlignedMemory memory;

        Packed(OneDnnContext context, Layout layout) {
            super(layout);
            this.memory = context.staging();
            memory.reserve(bytes(layout));
        }

        Place packed() {
            return Place.kept(memory.address());
        }
    }

    private static class Gathered extends Packed {
        private final Tape tape;
        private final Gather parts;

        Gathered(OneDnnContext context, Layout layout, Gather parts) {
            super(context, layout);
            this.tape = context.tape();
            this.parts = parts;
        }

        @Override
        Place take(INDArray input) {
            tape.gather(parts, Place.of(input), packed());
            return packed();
        }
    }

    private static final class Padding extends Gathered {
        Padding(OneDnnContext context, Layout layout, String what) {
            super(context, layout, new Gather(what).zeros(bytes(layout)));
        }

        @Override
        Place gradient(INDArray inputGradient) {
            return packed();
        }

        @Override
        void spread(INDArray inputGradient) {
            inputGradient.assign(0);
        }
    }

    /** Averages of one number, which copy it. */
    private static final class Averaged extends Packed {
        private final PoolingKernels averages;

        Averaged(OneDnnContext context, PoolingKernels averages, Layout input) {
            super(context, Layout.channelsLast(input.type(), averages.outputShape()));
            this.averages = averages;
        }

        @Override
        Place take(INDArray input) {
            averages.forward(Place.of(input), packed());
            return packed();
        }

        @Override
        Place gradient(INDArray inputGradient) {
            return packed();
        }

        @Override
        void spread(INDArray inputGradient) {
            averages.backward(packed(), Place.of(inputGradient));
        }

        @Override
        public void close() {
            averages.close();
        }
    }
}
