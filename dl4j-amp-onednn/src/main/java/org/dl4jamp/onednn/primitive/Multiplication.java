package org.dl4jamp.onednn.primitive;

import org.bytedeco.dnnl.matmul;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.javacpp.LongPointer;

/**
 * oneDNN's product of matrices. All this is to be used within {@link OneDnnContext#make}.
 *
 * @param bias the layout of a bias for each column; null for none
 * @param adds whether the product is added to the target
 */
public record Multiplication(
        OneDnnContext context,
        String what,
        memory.desc source,
        memory.desc weights,
        memory.desc target,
        memory.desc bias,
        boolean adds) {

    public Multiplication(
            OneDnnContext context, String what, memory.desc source, memory.desc weights, memory.desc target) {
        this(context, what, source, weights, target, null, false);
    }

    /** Returns the same with a bias for each column. */
    public Multiplication plus(memory.desc columns) {
        return new Multiplication(context, what, source, weights, target, columns, adds);
    }

    /** Returns the same, with the product added to the target. */
    public Multiplication adding() {
        return new Multiplication(context, what, source, weights, target, bias, true);
    }

    private matmul.primitive_desc describe() {
        primitive_attr attributes = OneDnnContext.attributes();
        if (adds) {
            post_ops sum = new post_ops();
            sum.append_sum();
            attributes.set_post_ops(sum);
        }
        return bias == null
                ? new matmul.primitive_desc(OneDnnContext.cpu(), source, weights, target, attributes, false)
                : new matmul.primitive_desc(OneDnnContext.cpu(), source, weights, bias, target, attributes, false);
    }

    private Work work() {
        LongPointer sums = target.get_dims();
        long products = source.get_dims().get(source.get_ndims() - 1L);
        for (int axis = 0; axis < target.get_ndims(); axis++) {
            products *= sums.get(axis);
        }
        return Work.ofProducts(products);
    }

    /** Returns the order of the weights that oneDNN chooses, if they may be in any. */
    public memory.desc weightsOrder() {
        return work().withItsThreads(() -> describe().weights_desc());
    }

    public Kernel kernel() {
        return work().withItsThreads(() -> new Kernel(context, what, describe()));
    }
}
