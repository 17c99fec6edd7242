package org.dl4jamp.onednn.scores;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.matmul;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;

/**
 * The product of two matrices, {@code [rows, columns]}, or of one pair for each of several heads of several examples,
 * {@code [examples, heads, rows, columns]}. Sums are FP32, and are rounded once, after the factor and the summand.
 *
 * @param factor of the product
 * @param summand added to each row of the product; null for none
 * @param adds whether the product is added to the target
 */
public record BlockProduct(Layout source, Layout weights, Layout target, double factor, Layout summand, boolean adds) {
    /** The argument for the {@link #summand}, which is the second operation after the product. */
    public static final int SUMMAND = (dnnl.DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE * 2) | dnnl.DNNL_ARG_SRC_1;

    public BlockProduct(Layout source, Layout weights, Layout target) {
        this(source, weights, target, 1, null, false);
    }

    public BlockProduct times(double scale) {
        return new BlockProduct(source, weights, target, scale, summand, adds);
    }

    public BlockProduct plus(Layout rows) {
        return new BlockProduct(source, weights, target, factor, rows, adds);
    }

    public BlockProduct adding(boolean toTarget) {
        return new BlockProduct(source, weights, target, factor, summand, toTarget);
    }

    /** Makes the kernel, within {@link OneDnnContext#make}. */
    public Kernel kernel(OneDnnContext context, String what) {
        long[] shape = source.shape();
        return Work.ofProducts(target.length() * shape[shape.length - 1]).withItsThreads(() -> {
            post_ops after = new post_ops();
            if (factor != 1 || summand != null) {
                after.append_eltwise(dnnl.algorithm.eltwise_linear, (float) factor, 0);
            }
            if (summand != null) {
                after.append_binary(dnnl.algorithm.binary_add, summand.descriptor());
            }
            if (adds) {
                after.append_sum();
            }
            primitive_attr attributes = OneDnnContext.attributes();
            attributes.set_post_ops(after);
            return new Kernel(
                    context,
                    what,
                    new matmul.primitive_desc(
                            OneDnnContext.cpu(),
                            source.descriptor(),
                            weights.descriptor(),
                            target.descriptor(),
                            attributes,
                            false));
        });
    }
}
