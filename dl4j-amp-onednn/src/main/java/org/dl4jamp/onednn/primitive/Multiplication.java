package org.dl4jamp.onednn.primitive;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.matmul;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.javacpp.LongPointer;

/** oneDNN's product of matrices. All this is to be used within {@link OneDnnContext#make}. */
public final class Multiplication {
    private final OneDnnContext context;
    private final String what;
    private final memory.desc source;
    private final memory.desc weights;
    private final memory.desc target;
    private memory.desc bias;
    private boolean adds;

    public Multiplication(
            OneDnnContext context, String what, memory.desc source, memory.desc weights, memory.desc target) {
        this.context = context;
        this.what = what;
        this.source = source;
        this.weights = weights;
        this.target = target;
    }

    /** Returns the same with a bias for each column. */
    public Multiplication plus(memory.desc columns) {
        bias = columns;
        return this;
    }

    /** Adds the product to the target. */
    public Multiplication adding() {
        adds = true;
        return this;
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
        return work().withItsThreads(this::make);
    }

    private Kernel make() {
        matmul.primitive_desc description = describe();
        Kernel kernel = new Kernel(context, what, description, new matmul(description))
                .argument(dnnl.DNNL_ARG_SRC, source)
                .argument(dnnl.DNNL_ARG_WEIGHTS, description.weights_desc())
                .argument(dnnl.DNNL_ARG_DST, target);
        return bias == null ? kernel : kernel.argument(dnnl.DNNL_ARG_BIAS, bias);
    }
}
