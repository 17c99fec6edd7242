package org.dl4jamp.onednn.twin;

import java.util.List;
import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Operations of two arrays, of which the second may be repeated along axes where its size is one. */
public final class BinaryKernels implements AutoCloseable {
    private final OneDnnContext context;
    private final KernelCache<Task, Kernel> kernels = new KernelCache<>(KernelCache.SHAPES);

    /** @param after functions applied to the result */
    private record Task(dnnl.algorithm operation, Layout first, Layout second, List<Eltwise> after, Layout result) {}

    public BinaryKernels(OneDnnContext context) {
        this.context = context;
    }

    /**
     * Computes an operation of two arrays.
     *
     * @param after functions applied to the result
     * @param result of the first array's shape; may be that array
     */
    public void run(
            String vertex,
            dnnl.algorithm operation,
            INDArray first,
            INDArray second,
            List<Eltwise> after,
            INDArray result) {
        Task task = new Task(operation, Layout.of(first), Layout.of(second), after, Layout.of(result));
        kernels.get(task, () -> make(vertex, task))
                .bind(dnnl.DNNL_ARG_SRC_0, first)
                .bind(dnnl.DNNL_ARG_SRC_1, second)
                .bind(dnnl.DNNL_ARG_DST, result)
                .run();
    }

    private Kernel make(String vertex, Task task) {
        String what = vertex + ": " + task.operation() + " of " + task.first() + " and " + task.second();
        return OneDnnContext.make(what, Work.ofNumbers(task.first().length()), () -> {
            post_ops more = new post_ops();
            task.after()
                    .forEach(function -> more.append_eltwise(function.function(), function.alpha(), function.beta()));
            primitive_attr attributes = OneDnnContext.attributes();
            attributes.set_post_ops(more);
            return new Kernel(
                    context,
                    what,
                    new binary.primitive_desc(
                            OneDnnContext.cpu(),
                            task.operation(),
                            task.first().descriptor(),
                            task.second().descriptor(),
                            task.result().descriptor(),
                            attributes,
                            false));
        });
    }

    @Override
    public void close() {
        kernels.close();
    }
}
