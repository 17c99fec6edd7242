package org.dl4jamp.onednn.pooling;

import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.eltwise_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The powers and roots of p-norms {@code (sum of |x|^p)^(1/p)}, for one number of numbers. Arrays are FP32, without
 * gaps, and of one order. Something else adds powers up, and spreads factors of gradients over the numbers.
 */
final class PowerKernels implements AutoCloseable {
    /** Beyond it a factor of a gradient may leave FP32's range where all numbers are zero. */
    static final int LARGEST = 8;

    private final Kernel powers;
    private final Kernel roots;
    private final Kernel factors;
    private final Kernel gradient;
    private final int p;
    private final INDArray least;

    private PowerKernels(OneDnnContext context, String what, int p, long scale, long numbers, long norms) {
        this.p = p;
        memory.desc fine = Layout.dense(DataType.FLOAT, 1, numbers).descriptor();
        memory.desc coarse = Layout.dense(DataType.FLOAT, 1, norms).descriptor();
        memory.desc one = Layout.dense(DataType.FLOAT, 1, 1).descriptor();
        float factor = (float) Math.pow((double) scale, 1.0 / p);
        powers = new Kernel(context, what + ", powers", binary(dnnl.algorithm.binary_mul, fine, fine, powers(p, fine)));
        roots = new Kernel(
                context,
                what + ", roots",
                new eltwise_forward.primitive_desc(
                        OneDnnContext.cpu(),
                        dnnl.prop_kind.forward_inference,
                        dnnl.algorithm.eltwise_pow,
                        coarse,
                        coarse,
                        factor,
                        1f / p,
                        OneDnnContext.attributes(),
                        false));
        post_ops ofRoots = new post_ops();
        ofRoots.append_eltwise(dnnl.algorithm.eltwise_pow, factor, (1f - p) / p);
        ofRoots.append_binary(dnnl.algorithm.binary_mul, coarse);
        factors = new Kernel(context, what + ", factors", binary(dnnl.algorithm.binary_max, coarse, one, ofRoots));
        gradient = new Kernel(
                context, what + ", backward", binary(dnnl.algorithm.binary_mul, fine, fine, gradient(p, fine)));
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            least = Nd4j.valueArrayOf(new long[] {1, 1}, Float.MIN_NORMAL, DataType.FLOAT);
        }
    }

    /**
     * Makes the kernels.
     *
     * @param p from 2 to {@link #LARGEST}
     * @param scale what the given sums have been divided by
     * @param numbers how many numbers
     * @param norms how many norms of them
     */
    static PowerKernels make(OneDnnContext context, String layer, int p, long scale, long numbers, long norms) {
        String what = layer + ": " + norms + " p-norms of " + numbers + " with p = " + p;
        return OneDnnContext.make(
                what, Work.ofNumbers(numbers), () -> new PowerKernels(context, what, p, scale, numbers, norms));
    }

    /** {@code |x x ... x|}; an even power has no sign. */
    private static post_ops powers(int p, memory.desc x) {
        post_ops more = new post_ops();
        for (int times = 2; times < p; times++) {
            more.append_binary(dnnl.algorithm.binary_mul, x);
        }
        if (p % 2 == 1) {
            more.append_eltwise(dnnl.algorithm.eltwise_abs, 0, 0);
        }
        return more;
    }

    /** {@code x |x|^(p-2)} times a factor of the gradient. */
    private static post_ops gradient(int p, memory.desc x) {
        post_ops more = new post_ops();
        boolean isOdd = p % 2 == 1;
        if (isOdd) {
            more.append_eltwise(dnnl.algorithm.eltwise_sqrt, 0, 0);
        }
        for (int times = isOdd ? 1 : 2; times < p; times++) {
            more.append_binary(dnnl.algorithm.binary_mul, x);
        }
        return more;
    }

    private static binary.primitive_desc binary(
            dnnl.algorithm operation, memory.desc one, memory.desc other, post_ops more) {
        primitive_attr attributes = OneDnnContext.attributes();
        attributes.set_post_ops(more);
        return new binary.primitive_desc(OneDnnContext.cpu(), operation, one, other, one, attributes, false);
    }

    private static int argument(int operation) {
        return (dnnl.DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE * (operation + 1)) | dnnl.DNNL_ARG_SRC_1;
    }

    /** Computes {@code |x|^p}. */
    void powers(INDArray x, INDArray result) {
        for (int operation = 0; operation < p - 2; operation++) {
            powers.bind(argument(operation), x);
        }
        run(powers, x, x, result);
    }

    /** Computes norms from sums of powers. */
    void roots(INDArray sums, INDArray result) {
        roots.bind(dnnl.DNNL_ARG_SRC, sums).bind(dnnl.DNNL_ARG_DST, result).run();
    }

    /**
     * Computes the factors {@code epsilon / norm^(p-1)} of the numbers' gradients, finite where a norm is zero.
     *
     * @param epsilon the gradient of the norms
     */
    void factors(INDArray sums, INDArray epsilon, INDArray result) {
        run(factors.bind(argument(1), epsilon), sums, least, result);
    }

    /**
     * Computes the gradient of the numbers.
     *
     * @param factors those of each number, added up; may be the result
     */
    void gradient(INDArray x, INDArray factors, INDArray result) {
        boolean isSquare = p == 2;
        boolean isEven = p % 2 == 0;
        int last = isEven ? p - 3 : p - 1;
        for (int operation = isEven ? 0 : 1; operation <= last; operation++) {
            gradient.bind(argument(operation), operation == last ? factors : x);
        }
        run(gradient, x, isSquare ? factors : x, result);
    }

    private static void run(Kernel kernel, INDArray one, INDArray other, INDArray result) {
        kernel.bind(dnnl.DNNL_ARG_SRC_0, one)
                .bind(dnnl.DNNL_ARG_SRC_1, other)
                .bind(dnnl.DNNL_ARG_DST, result)
                .run();
    }

    @Override
    public void close() {
        powers.close();
        roots.close();
        factors.close();
        gradient.close();
    }
}
