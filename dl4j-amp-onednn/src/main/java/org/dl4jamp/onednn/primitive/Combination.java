package org.dl4jamp.onednn.primitive;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * One array of two or more of the same layout, element by element. It is computed in FP32 and rounded once. A pass of
 * oneDNN takes a limited number of arrays. Intermediate results are FP32, in memory that the network's kernels share.
 */
public final class Combination implements AutoCloseable {
    /** The limit of one pass: two arrays, and all but a few of the 32 operations on their result that oneDNN allows. */
    static final int MOST_ARRAYS = 24;

    /**
     * The operation to compute.
     *
     * @param operation applied to the first two arrays, then to the result and the third, and so on
     * @param after functions applied to the result
     */
    public record Task(dnnl.algorithm operation, int arrays, List<Eltwise> after, Layout layout) {}

    private final OneDnnContext context;
    private final List<Kernel> passes;

    private Combination(OneDnnContext context, List<Kernel> passes) {
        this.context = context;
        this.passes = passes;
    }

    public static Combination make(OneDnnContext context, String vertex, Task task) {
        String what = vertex + ": " + task.operation() + " of " + task.arrays() + " " + task.layout();
        return OneDnnContext.make(
                what, Work.ofNumbers(task.arrays() * task.layout().length()), () -> {
                    memory.desc array = task.layout().descriptor();
                    Layout inFloat = task.layout().as(DataType.FLOAT);
                    memory.desc sum = inFloat.descriptor();
                    List<Kernel> passes = new ArrayList<>();
                    int taken = 0;
                    while (taken < task.arrays()) {
                        boolean isFirst = taken == 0;
                        int further = Math.min(MOST_ARRAYS - 1, task.arrays() - taken - (isFirst ? 1 : 0));
                        taken += further + (isFirst ? 1 : 0);
                        boolean isLast = taken == task.arrays();
                        passes.add(pass(
                                context,
                                what,
                                task.operation(),
                                isFirst ? array : sum,
                                array,
                                further,
                                isLast ? task.after() : List.of(),
                                isLast ? array : sum));
                    }
                    if (passes.size() > 1) {
                        context.staging().reserve(sum.get_size());
                    }
                    return new Combination(context, passes);
                });
    }

    private static Kernel pass(
            OneDnnContext context,
            String what,
            dnnl.algorithm operation,
            memory.desc first,
            memory.desc others,
            int count,
            List<Eltwise> after,
            memory.desc result) {
        post_ops more = new post_ops();
        for (int i = 1; i < count; i++) {
            more.append_binary(operation, others);
        }
        after.forEach(function -> more.append_eltwise(function.function(), function.alpha(), function.beta()));
        primitive_attr attributes = OneDnnContext.attributes();
        attributes.set_post_ops(more);
        binary.primitive_desc description =
                new binary.primitive_desc(OneDnnContext.cpu(), operation, first, others, result, attributes, false);
        return new Kernel(context, what, description);
    }

    private static int argument(int array) {
        return array == 1
                ? dnnl.DNNL_ARG_SRC_1
                : (dnnl.DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE * (array - 1)) | dnnl.DNNL_ARG_SRC_1;
    }

    public void run(List<INDArray> arrays, INDArray result) {
        int taken = 0;
        for (int i = 0; i < passes.size(); i++) {
            Kernel pass = passes.get(i);
            pass.bind(dnnl.DNNL_ARG_SRC_0, i == 0 ? Place.of(arrays.get(taken++)) : between());
            for (int place = 1; place < MOST_ARRAYS && taken < arrays.size(); place++) {
                pass.bind(argument(place), arrays.get(taken++));
            }
            pass.bind(dnnl.DNNL_ARG_DST, taken == arrays.size() ? Place.of(result) : between())
                    .run();
        }
    }

    private Place between() {
        return Place.kept(context.staging().address());
    }

    @Override
    public void close() {
        passes.forEach(Kernel::close);
    }
}
