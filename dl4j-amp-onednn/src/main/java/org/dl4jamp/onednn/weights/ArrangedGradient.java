package org.dl4jamp.onednn.weights;

import java.util.List;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.primitive.BlockOrder;
import org.dl4jamp.onednn.primitive.Copies;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The gradient of a network's weights as a primitive writes it. It's the network's view if the order is the
 * primitive's. Otherwise it's memory that all layers share, and is copied to the view at once.
 */
public final class ArrangedGradient implements AutoCloseable {
    private final OneDnnContext context;
    private final List<Kernel> copies;

    private ArrangedGradient(OneDnnContext context, List<Kernel> copies) {
        this.context = context;
        this.copies = copies;
    }

    /**
     * Makes it; to be called within {@link OneDnnContext#make}.
     *
     * @param what layer, primitive and shapes, for error messages
     * @param network the layout of the network's view
     * @param wanted the layout that the primitive writes
     */
    public static ArrangedGradient of(OneDnnContext context, String what, memory.desc network, memory.desc wanted) {
        if (wanted.equals(network)) {
            return new ArrangedGradient(context, List.of());
        }
        context.gradientMemory().reserve(wanted.get_size());
        Copies copies = context.copies();
        return BlockOrder.columns(wanted)
                .map(columns -> {
                    // oneDNN makes columns of squares, and rows of columns, in a third to a half of the time of both at
                    // once; those of the largest weights take as long, or a fifth longer.
                    context.staging().reserve(columns.get_size());
                    return new ArrangedGradient(
                            context, List.of(copies.make(what, wanted, columns), copies.make(what, columns, network)));
                })
                .orElseGet(() -> new ArrangedGradient(context, List.of(copies.make(what, wanted, network))));
    }

    /** Prepares the next run of the kernel that writes it. */
    public void bind(Kernel kernel, INDArray networks) {
        if (copies.isEmpty()) {
            kernel.bind(dnnl.DNNL_ARG_DIFF_WEIGHTS, networks);
        } else {
            kernel.bind(
                    dnnl.DNNL_ARG_DIFF_WEIGHTS,
                    Place.kept(context.gradientMemory().address()));
        }
    }

    /** Copies the gradient to the network's view, if it isn't there. */
    public void copy(INDArray networks) {
        if (copies.isEmpty()) {
            return;
        }
        Place written = Place.kept(context.gradientMemory().address());
        Place columns = Place.kept(context.staging().address());
        boolean atOnce = copies.size() == 1;
        copies.get(0).copy(written, atOnce ? Place.of(networks) : columns);
        if (!atOnce) {
            copies.get(1).copy(columns, Place.of(networks));
        }
    }

    @Override
    public void close() {
        copies.forEach(Kernel::close);
    }
}
