package org.dl4jamp.benchmarks.floor;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.inner_product_forward;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.dl4jamp.benchmarks.blueprint.Window;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Tape;

/**
 * A convolution of few windows over many channels in FP32, in inference: the product of its weights and of rows that
 * are copies of the windows. Most of its time passes while weights come from memory, and oneDNN's product reads them
 * faster than its convolution does.
 */
final class FewWindows {
    private static final long MOST_WINDOWS = 16;
    private static final long FEWEST_WEIGHTS = 1 << 20;

    /** Numbers next to each other in the input, and where they are in a row. */
    private record Part(Pointer from, Pointer to, long bytes) {}

    private final Tape tape;
    private final Window window;
    private final Flow input;
    private final long[] output;

    /** @param output the shape of the output */
    FewWindows(Tape tape, Window window, Flow input, long... output) {
        this.tape = tape;
        this.window = window;
        this.input = input;
        this.output = output;
    }

    /**
     * Returns whether the product is faster, as it is with AVX-512.
     *
     * @param output the shape of the output
     * @param filters the shape of the weights, {@code [out, in, height, width]}
     */
    static boolean suit(Tape tape, Window window, long[] output, long... filters) {
        int avx512 = dnnl.dnnl_cpu_isa_avx512_core;
        return tape.type() == memory.data_type.f32
                && (dnnl.dnnl_get_effective_cpu_isa() & avx512) == avx512
                && window.height() * window.width() > 1
                && output[0] * output[2] * output[3] <= MOST_WINDOWS
                && filters[0] * filters[1] * filters[2] * filters[3] >= FEWEST_WEIGHTS;
    }

    private long count() {
        return output[0] * output[2] * output[3];
    }

    private memory.desc rows() {
        return tape.activations(memory.format_tag.acdb, count(), input.size(1), window.height(), window.width());
    }

    /** Describes the product of the rows by weights. */
    primitive_desc product(memory.desc weights, memory.desc biases, primitive_attr attributes) {
        return new inner_product_forward.primitive_desc(
                tape.cpu(),
                dnnl.prop_kind.forward_inference,
                rows(),
                weights,
                biases,
                tape.activations(memory.format_tag.ab, count(), output[1]),
                attributes,
                false);
    }

    /** Puts the copies of the windows on the tape, and returns them. What is zero in them is written here, once. */
    Flow copies() {
        memory rows = tape.memory(rows());
        Pointer.memset(rows.get_data_handle(), 0, rows().get_size());
        List<Part> parts = new ArrayList<>();
        for (long row = 0; row < count(); row++) {
            for (int y = 0; y < window.height(); y++) {
                add(parts, rows, row, y);
            }
        }
        tape.add(() -> parts.forEach(part -> Pointer.memcpy(part.to(), part.from(), part.bytes())));
        return Flow.withoutGradient(tape, rows, rows(), count(), input.size(1), window.height(), window.width());
    }

    /** Adds the part of a window's row of pixels that is inside the image. */
    private void add(List<Part> parts, memory rows, long row, int y) {
        long image = row / (output[2] * output[3]);
        long imageY = row / output[3] % output[2] * window.strideY()
                - window.padding().top()
                + y;
        long left = row % output[3] * window.strideX() - window.padding().left();
        long begin = Math.max(0, -left);
        long end = Math.min(window.width(), input.size(3) - left);
        if (imageY < 0 || imageY >= input.size(2) || begin >= end) {
            return;
        }
        long channels = input.size(1);
        long from = (image * input.size(2) + imageY) * input.size(3) + left + begin;
        long to = (row * window.height() + y) * window.width() + begin;
        parts.add(new Part(
                new FloatPointer(input.value().get_data_handle()).getPointer(from * channels),
                new FloatPointer(rows.get_data_handle()).getPointer(to * channels),
                (end - begin) * channels * Float.BYTES));
    }
}
