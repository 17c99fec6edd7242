package org.dl4jamp.benchmarks.floor;

import org.bytedeco.dnnl.convolution_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.reorder;
import org.dl4jamp.benchmarks.blueprint.Window;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Memories;
import org.dl4jamp.benchmarks.tape.Tape;

/**
 * Images of a few columns side by side in one long row, {@code [1, channels, height, width * minibatch]}. There a
 * position of all images comes before the next position. oneDNN convolves it faster: it multiplies row by row.
 */
final class LongRow {
    private static final long MOST_COLUMNS = 4;
    private static final long FEWEST_IMAGES = 4;
    private static final long FEWEST_MULTIPLICATIONS = 1 << 22;

    private final Tape tape;
    private final Memories memories;
    private final long images;

    LongRow(Tape tape, Memories memories, long images) {
        this.tape = tape;
        this.memories = memories;
        this.images = images;
    }

    /**
     * Returns whether images are convolved faster in it.
     *
     * @param output the shape of the output
     * @param weights the number of weights
     */
    static boolean suits(Window window, long[] output, long weights) {
        return output[0] >= FEWEST_IMAGES
                && output[3] <= MOST_COLUMNS
                && output[0] * output[2] * output[3] * weights >= FEWEST_MULTIPLICATIONS
                && window.width() > 1
                && window.strideX() == 1
                && window.strideY() == 1;
    }

    /** Returns whether oneDNN's implementation is one that multiplies row by row. */
    static boolean isFast(convolution_forward.primitive_desc description) {
        return description.impl_info_str().getString().startsWith("brg");
    }

    private memory.desc row(long... shape) {
        return tape.activations(memory.format_tag.acdb, 1, shape[1], shape[2], shape[3] * images);
    }

    /** Describes the convolution of rows. */
    convolution_forward.primitive_desc convolution(
            long[] input,
            memory.desc weights,
            memory.desc biases,
            long[] output,
            Window.Padding padding,
            primitive_attr attributes) {
        return new convolution_forward.primitive_desc(
                tape.cpu(),
                dnnl.prop_kind.forward_inference,
                dnnl.algorithm.convolution_direct,
                row(input),
                weights,
                biases,
                row(output),
                new long[] {1, 1},
                new long[] {0, images - 1},
                new long[] {padding.top(), padding.left() * images},
                new long[] {padding.bottom(), padding.right() * images},
                attributes,
                false);
    }

    /** Returns a row for images of a shape. */
    Flow take(long... shape) {
        memory.desc row = row(shape);
        return Flow.withoutGradient(tape, memories.take(row), row, shape);
    }

    /** Puts the copy of images to a row on the tape. */
    void arrange(Flow from, Flow row) {
        copy(plain(from), interleaved(row));
    }

    /** Puts the copy of a row to images on the tape. */
    void spread(Flow row, Flow to) {
        copy(interleaved(row), plain(to));
    }

    /** Lets others use the memory of a row. */
    void give(Flow row) {
        memories.give(row.value());
    }

    private void copy(memory from, memory to) {
        tape.add(
                new reorder(from, to),
                new Tape.Argument(dnnl.DNNL_ARG_FROM, from),
                new Tape.Argument(dnnl.DNNL_ARG_TO, to));
    }

    /** Returns images as {@code [minibatch, positions, channels]}. */
    private memory plain(Flow flow) {
        long positions = flow.size(2) * flow.size(3);
        return seen(flow, positions * flow.size(1), flow.size(1));
    }

    /** Returns a row as {@code [minibatch, positions, channels]}. */
    private memory interleaved(Flow flow) {
        return seen(flow, flow.size(1), images * flow.size(1));
    }

    private memory seen(Flow flow, long ofImages, long ofPositions) {
        long[] shape = {images, flow.size(2) * flow.size(3), flow.size(1)};
        memory.desc description = new memory.desc(shape, tape.type(), new long[] {ofImages, ofPositions, 1});
        return new memory(description, tape.cpu(), flow.value().get_data_handle());
    }
}
