package org.dl4jamp.onednn.output;

import java.util.Optional;
import java.util.function.Supplier;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.softmax_forward;
import org.dl4jamp.onednn.host.Magnitudes;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The softmax of each row of a matrix, in FP32, in place. To call ND4J's takes longer than a small layer takes to
 * compute.
 */
final class Softmax implements AutoCloseable {
    private final OneDnnContext context;
    private final IActivation function;
    private final Supplier<String> layer;
    private final KernelCache<Layout, Kernel> kernels = new KernelCache<>(KernelCache.SHAPES);

    private Softmax(OneDnnContext context, IActivation function, Supplier<String> layer) {
        this.context = context;
        this.function = function;
        this.layer = layer;
    }

    /** Returns the softmax of an output layer; empty if the layer has another activation function. */
    static Optional<Softmax> of(OneDnnContext context, IActivation activation, Supplier<String> layer) {
        // Subclasses may compute anything.
        return activation.getClass() == ActivationSoftmax.class
                ? Optional.of(new Softmax(context, activation, layer))
                : Optional.empty();
    }

    /**
     * Makes probabilities of sums. Sums that aren't finite are left to ND4J, which makes a row of NaN of them: oneDNN
     * makes 0 of a sum of -infinity also next to NaN.
     *
     * @param sums {@code [rows, classes]}, FP32, dense
     */
    void run(INDArray sums) {
        if (!Magnitudes.areFinite(sums)) {
            sums.assign(function.getActivation(sums.dup(), false));
            return;
        }
        Layout layout = Layout.of(sums);
        kernels.get(layout, () -> kernel(layout))
                .bind(dnnl.DNNL_ARG_SRC, sums)
                .bind(dnnl.DNNL_ARG_DST, sums)
                .run();
    }

    private Kernel kernel(Layout layout) {
        String what = layer.get() + ": softmax of " + layout;
        return OneDnnContext.make(what, Work.ofNumbers(layout.length()), () -> {
            memory.desc rows = layout.descriptor();
            softmax_forward.primitive_desc description = new softmax_forward.primitive_desc(
                    OneDnnContext.cpu(),
                    dnnl.prop_kind.forward_training,
                    dnnl.algorithm.softmax_accurate,
                    rows,
                    rows,
                    1,
                    OneDnnContext.attributes(),
                    false);
            return new Kernel(context, what, description);
        });
    }

    @Override
    public void close() {
        kernels.close();
    }
}
