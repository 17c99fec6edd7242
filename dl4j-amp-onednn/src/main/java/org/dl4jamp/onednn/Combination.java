package org.dl4jamp.onednn;

import java.util.List;
import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.nd4j.linalg.api.ndarray.INDArray;

/** One array of two or more of the same layout, element by element: computed in FP32 and rounded once. */
final class Combination implements AutoCloseable {
    /**
     * What it computes.
     *
     * @param operation applied to the first two arrays, then to the result and the third, and so on
     * @param arrays how many there are
     * @param after functions applied to the result
     * @param layout of the arrays and the result
     */
    record Task(dnnl.algorithm operation, int arrays, List<Eltwise> after, Layout layout) {}

    private final Kernel kernel;

    private Combination(Kernel kernel) {
        this.kernel = kernel;
    }

    static Combination make(OneDnnContext context, String vertex, Task task) {
        String what = vertex + ": " + task.operation() + " of " + task.arrays() + " " + task.layout();
        return OneDnnContext.make(what, () -> {
            memory.desc array = task.layout().descriptor();
            post_ops more = new post_ops();
            for (int i = 2; i < task.arrays(); i++) {
                more.append_binary(task.operation(), array);
            }
            task.after()
                    .forEach(function -> more.append_eltwise(function.function(), function.alpha(), function.beta()));
            primitive_attr attributes = OneDnnContext.attributes();
            attributes.set_post_ops(more);
            binary.primitive_desc description = new binary.primitive_desc(
                    OneDnnContext.cpu(), task.operation(), array, array, array, attributes, false);
            Kernel kernel =
                    new Kernel(context, what, description, new binary(description)).argument(dnnl.DNNL_ARG_DST, array);
            for (int i = 0; i < task.arrays(); i++) {
                kernel.argument(argument(i), array);
            }
            return new Combination(kernel);
        });
    }

    private static int argument(int array) {
        if (array < 2) {
            return array == 0 ? dnnl.DNNL_ARG_SRC_0 : dnnl.DNNL_ARG_SRC_1;
        }
        return (dnnl.DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE * (array - 1)) | dnnl.DNNL_ARG_SRC_1;
    }

    void run(List<INDArray> arrays, INDArray result) {
        for (int i = 0; i < arrays.size(); i++) {
            kernel.bind(argument(i), arrays.get(i));
        }
        kernel.bind(dnnl.DNNL_ARG_DST, result).run();
    }

    @Override
    public void close() {
        kernel.close();
    }
}
