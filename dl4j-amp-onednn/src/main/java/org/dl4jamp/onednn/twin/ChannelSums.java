package org.dl4jamp.onednn.twin;

import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.Multiplication;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Sums of all channels at each position of each example, in FP32: a product with ones. oneDNN's own reduction of these
 * arrays takes hundreds of times as long.
 */
public final class ChannelSums implements AutoCloseable {
    private final Kernel product;
    private final INDArray ones;

    private ChannelSums(Kernel product, INDArray ones) {
        this.product = product;
        this.ones = ones;
    }

    /**
     * Makes the sums of arrays of a layout.
     *
     * @param array channels-last
     */
    public static ChannelSums make(OneDnnContext context, String layer, Layout array) {
        String what = layer + ": sums of the channels of " + array;
        long channels = array.shape()[1];
        long rows = array.length() / channels;
        return OneDnnContext.make(what, Work.ofProducts(array.length()), () -> {
            Kernel product = new Multiplication(
                            context,
                            what,
                            array.asMatrix().descriptor(),
                            Layout.dense(array.type(), channels, 1).descriptor(),
                            Layout.dense(DataType.FLOAT, rows, 1).descriptor())
                    .kernel();
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                return new ChannelSums(product, Nd4j.ones(array.type(), channels, 1));
            }
        });
    }

    /**
     * Adds up the channels.
     *
     * @param sums FP32, contiguous, a number for each position of each example
     */
    public void run(INDArray array, INDArray sums) {
        product.bind(dnnl.DNNL_ARG_SRC, array)
                .bind(dnnl.DNNL_ARG_WEIGHTS, ones)
                .bind(dnnl.DNNL_ARG_DST, sums)
                .run();
    }

    @Override
    public void close() {
        product.close();
    }
}
