package org.dl4jamp.onednn.primitive;

import org.bytedeco.dnnl.dnnl_primitive_desc;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.onednn.memory.Layout;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Repeats each number of a coarse array over a block of a fine one, and sums up blocks of the fine one, in FP32. The
 * arrays may have different types.
 */
public final class RepetitionKernels implements AutoCloseable {
    private final Kernel repeat;
    private final Kernel sum;

    private RepetitionKernels(OneDnnContext context, String what, memory.desc coarse, memory.desc fine) {
        primitive_desc forward = forward(coarse, fine);
        primitive_desc backward = backward(coarse, fine, forward);
        repeat = new Kernel(context, what, forward);
        sum = new Kernel(context, what + ", backward", backward);
    }

    /** Makes kernels for two shapes, of which the sizes of the fine one are multiples of the coarse one's. */
    public static RepetitionKernels make(OneDnnContext context, String layer, Layout coarse, Layout fine) {
        String what = layer + ": repetition of " + coarse + " over " + fine;
        return OneDnnContext.make(
                what,
                Work.ofNumbers(fine.length()),
                () -> new RepetitionKernels(context, what, coarse.descriptor(), fine.descriptor()));
    }

    // The binding has no C++ constructors for resampling, only the C functions. Its nearest neighbour is the block's
    // number if sizes are multiples.
    private static primitive_desc forward(memory.desc coarse, memory.desc fine) {
        dnnl_primitive_desc description = new dnnl_primitive_desc();
        check(dnnl.dnnl_resampling_forward_primitive_desc_create(
                description,
                OneDnnContext.cpu().get(),
                dnnl.dnnl_forward_training,
                dnnl.dnnl_resampling_nearest,
                (float[]) null,
                coarse.get(),
                fine.get(),
                OneDnnContext.attributes().get()));
        return new primitive_desc(description);
    }

    private static primitive_desc backward(memory.desc coarse, memory.desc fine, primitive_desc hint) {
        dnnl_primitive_desc description = new dnnl_primitive_desc();
        check(dnnl.dnnl_resampling_backward_primitive_desc_create(
                description,
                OneDnnContext.cpu().get(),
                dnnl.dnnl_resampling_nearest,
                (float[]) null,
                coarse.get(),
                fine.get(),
                hint.get(),
                OneDnnContext.attributes().get()));
        return new primitive_desc(description);
    }

    private static void check(int status) {
        if (status != dnnl.dnnl_success) {
            throw new IllegalArgumentException("status " + status);
        }
    }

    public void repeat(INDArray coarse, INDArray fine) {
        repeat.bind(dnnl.DNNL_ARG_SRC, coarse).bind(dnnl.DNNL_ARG_DST, fine).run();
    }

    public void sum(INDArray fine, INDArray coarse) {
        sum.bind(dnnl.DNNL_ARG_DIFF_DST, fine)
                .bind(dnnl.DNNL_ARG_DIFF_SRC, coarse)
                .run();
    }

    @Override
    public void close() {
        repeat.close();
        sum.close();
    }
}
