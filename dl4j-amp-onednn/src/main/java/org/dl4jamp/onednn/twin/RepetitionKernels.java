package org.dl4jamp.onednn.twin;

import org.bytedeco.dnnl.dnnl_primitive_desc;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Repeats each number of a coarse array over a block of a fine one, and sums up blocks of the fine one, in FP32. The
 * arrays may have different types.
 */
public final class RepetitionKernels implements AutoCloseable {
    /** The most bytes of both arrays that any processor's cache holds. */
    private static final long CACHED = 1 << 18;

    private static final int CACHE_LINE = 64;

    private final OneDnnContext context;
    private final String what;
    private final Layout coarse;
    private final Layout fine;
    private final Kernel repeat;
    private final Kernel sum;
    /** Made when it's first needed, else null. */
    private Staged staged;

    /**
     * Repetition of one example after the other, in memory that begins at a page, and a copy of each. Arrays that are
     * larger than the cache are stored past it, by instructions that crash where they don't begin at a cache line.
     */
    private record Staged(OneDnnContext context, Kernel repeat, Kernel copy, long examples, long coarse, long fine) {
        static Staged make(OneDnnContext context, String what, Layout coarse, Layout fine) {
            memory.desc one = ofOneExample(fine).descriptor();
            context.staging().reserve(one.get_size());
            return new Staged(
                    context,
                    new Kernel(
                            context,
                            what + ", of an example",
                            forward(ofOneExample(coarse).descriptor(), one)),
                    context.copies().make(what + ", copied", one, one),
                    fine.shape()[0],
                    ofOneExample(coarse).length(),
                    ofOneExample(fine).length());
        }

        private static Layout ofOneExample(Layout layout) {
            long[] shape = layout.shape();
            shape[0] = 1;
            return Layout.channelsLast(layout.type(), shape);
        }

        void run(INDArray from, INDArray to) {
            Place staging = Place.kept(context.staging().address());
            for (long example = 0; example < examples; example++) {
                repeat.bind(dnnl.DNNL_ARG_SRC, Slab.of(from).plus(example * coarse))
                        .bind(dnnl.DNNL_ARG_DST, staging)
                        .run();
                copy.copy(staging, Slab.of(to).plus(example * fine).place());
            }
        }

        void close() {
            repeat.close();
            copy.close();
        }
    }

    private RepetitionKernels(OneDnnContext context, String what, Layout coarse, Layout fine) {
        this.context = context;
        this.what = what;
        this.coarse = coarse;
        this.fine = fine;
        memory.desc from = coarse.descriptor();
        memory.desc to = fine.descriptor();
        primitive_desc forward = forward(from, to);
        repeat = new Kernel(context, what, forward);
        sum = new Kernel(context, what + ", backward", backward(from, to, forward));
    }

    /**
     * Makes kernels for two channels-last layouts, of which the sizes of the fine one are multiples of the coarse
     * one's.
     */
    public static RepetitionKernels make(OneDnnContext context, String layer, Layout coarse, Layout fine) {
        String what = layer + ": repetition of " + coarse + " over " + fine;
        return OneDnnContext.make(
                what, Work.ofNumbers(fine.length()), () -> new RepetitionKernels(context, what, coarse, fine));
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

    public void repeat(INDArray from, INDArray to) {
        if (isLarge() && Workspaces.address(to) % CACHE_LINE != 0) {
            staged().run(from, to);
        } else {
            repeat.bind(dnnl.DNNL_ARG_SRC, from).bind(dnnl.DNNL_ARG_DST, to).run();
        }
    }

    private boolean isLarge() {
        return coarse.length() * coarse.type().width()
                        + fine.length() * fine.type().width()
                > CACHED;
    }

    private Staged staged() {
        if (staged == null) {
            staged = OneDnnContext.make(
                    what, Work.ofNumbers(fine.length()), () -> Staged.make(context, what, coarse, fine));
        }
        return staged;
    }

    public void sum(INDArray from, INDArray to) {
        sum.bind(dnnl.DNNL_ARG_DIFF_DST, from).bind(dnnl.DNNL_ARG_DIFF_SRC, to).run();
    }

    @Override
    public void close() {
        repeat.close();
        sum.close();
        if (staged != null) {
            staged.close();
        }
    }
}
