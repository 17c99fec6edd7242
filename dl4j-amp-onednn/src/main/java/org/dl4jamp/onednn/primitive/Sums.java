package org.dl4jamp.onednn.primitive;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.onednn.memory.Layout;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Sums of gradients, which DL4J's graph calls for, maybe after the network was closed. */
public final class Sums implements AutoCloseable {
    private static final int MOST = 256;

    private final OneDnnContext context;
    private final KernelCache<Combination.Task, Combination> kernels = new KernelCache<>(MOST);
    private final Set<Combination.Task> refused = new HashSet<>();
    private boolean closed;

    Sums(OneDnnContext context) {
        this.context = context;
    }

    /**
     * Adds one array to another, in place. DL4J's graph calls for it outside of layers and vertices.
     *
     * @param sum of the same shape, type and order
     * @return whether it was done; not so after mixed precision was closed, or if oneDNN refuses: then ND4J has to add
     */
    public synchronized boolean add(INDArray summand, INDArray sum) {
        Combination.Task task = new Combination.Task(dnnl.algorithm.binary_add, 2, List.of(), Layout.of(sum));
        if (closed || refused.contains(task)) {
            return false;
        }
        Combination kernel;
        try {
            kernel = kernels.get(task, () -> Combination.make(context, "gradients of several consumers", task));
        } catch (KernelFailure e) {
            refused.add(task);
            return false;
        }
        kernel.run(List.of(sum, summand), sum);
        return true;
    }

    @Override
    public synchronized void close() {
        closed = true;
        kernels.close();
    }
}
