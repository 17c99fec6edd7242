package org.dl4jamp.onednn.attention;

import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.onednn.scores.BlockProduct;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** A copy of learned queries for each example, and the sum of the copies' gradients. Both are products by ones. */
final class QueryCopies implements AutoCloseable {
    private final Kernel copy;
    private final Kernel sum;
    private final INDArray ones;
    private final INDArray onesInFloat;

    private QueryCopies(OneDnnContext context, String what, DataType type, long minibatch, long numbers) {
        Layout one = Layout.dense(type, 1, numbers);
        Layout all = Layout.dense(type, minibatch, numbers);
        copy = new BlockProduct(Layout.dense(type, minibatch, 1), one, all).kernel(context, what);
        sum = new BlockProduct(
                        Layout.dense(DataType.FLOAT, 1, minibatch), all.as(DataType.FLOAT), one.as(DataType.FLOAT))
                .kernel(context, what);
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            ones = Nd4j.ones(type, minibatch);
            onesInFloat = Nd4j.ones(DataType.FLOAT, minibatch);
        }
    }

    /**
     * Makes the kernels.
     *
     * @param numbers how many numbers the queries have
     */
    static QueryCopies make(OneDnnContext context, String layer, DataType type, long minibatch, long numbers) {
        String what = layer + ": " + minibatch + " copies of its queries";
        return OneDnnContext.make(
                what,
                Work.ofNumbers(minibatch * numbers),
                () -> new QueryCopies(context, what, type, minibatch, numbers));
    }

    /** Copies queries for each example, of the same type. */
    void copy(INDArray queries, INDArray copies) {
        run(copy, ones, queries, copies);
    }

    /** Adds up the gradients of the copies, in FP32. */
    void sum(INDArray copies, INDArray queries) {
        run(sum, onesInFloat, copies, queries);
    }

    private static void run(Kernel product, INDArray factors, INDArray from, INDArray to) {
        product.bind(dnnl.DNNL_ARG_SRC, factors)
                .bind(dnnl.DNNL_ARG_WEIGHTS, Place.of(from))
                .bind(dnnl.DNNL_ARG_DST, Place.of(to))
                .run();
    }

    @Override
    public void close() {
        copy.close();
        sum.close();
    }
}
