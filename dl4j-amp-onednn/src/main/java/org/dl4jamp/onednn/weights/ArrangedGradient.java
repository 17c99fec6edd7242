package org.dl4jamp.onednn.weights;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.javacpp.LongPointer;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.primitive.Copies;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The gradient of a network's weights as a primitive writes it. It's the network's view if the order is the
 * primitive's. Otherwise it's memory that all layers share, and is copied to the view at once.
 */
public final class ArrangedGradient implements AutoCloseable {
    /** Orders by squares of 16 output channels by 16 input channels, and those by columns of 16 output channels. */
    private static final Map<memory.format_tag, memory.format_tag> COLUMNS_OF_SQUARES = Map.of(
            memory.format_tag.ABc16b16a, memory.format_tag.Abc16a,
            memory.format_tag.ABcd16b16a, memory.format_tag.Abcd16a,
            memory.format_tag.ABcde16b16a, memory.format_tag.Abcde16a);

    private final OneDnnContext context;
    private final List<Kernel> copies;

    private ArrangedGradient(OneDnnContext context, List<Kernel> copies) {
        this.context = context;
        this.copies = copies;
    }

    /**
     * Makes it; to be called within {@link OneDnnContext#make}.
     *
     * @param network the layout of the network's view
     * @param wanted the layout that the primitive writes
     */
    public static ArrangedGradient of(OneDnnContext context, String what, memory.desc network, memory.desc wanted) {
        if (wanted.equals(network)) {
            return new ArrangedGradient(context, List.of());
        }
        context.gradientMemory().reserve(wanted.get_size());
        Copies copies = context.copies();
        return columns(wanted)
                .map(columns -> {
                    // oneDNN makes columns of squares, and rows of columns, in a third to a half of the time of both at
                    // once; those of the largest weights take as long, or a fifth longer.
                    context.staging().reserve(columns.get_size());
                    return new ArrangedGradient(
                            context, List.of(copies.make(what, wanted, columns), copies.make(what, columns, network)));
                })
                .orElseGet(() -> new ArrangedGradient(context, List.of(copies.make(what, wanted, network))));
    }

    /**
     * Returns the order halfway to plain weights: columns of 16 output channels, with the input channels one after the
     * other. Empty for weights in another order than squares, which oneDNN's convolutions have their gradients in.
     */
    static Optional<memory.desc> columns(memory.desc weights) {
        LongPointer sizes = weights.get_dims();
        long[] shape = new long[(int) sizes.limit()];
        sizes.get(shape);
        memory.data_type type = weights.get_data_type();
        return COLUMNS_OF_SQUARES.entrySet().stream()
                .filter(order -> rank(order.getKey()) == shape.length)
                .filter(order -> new memory.desc(shape, type, order.getKey()).equals(weights))
                .map(order -> new memory.desc(shape, type, order.getValue()))
                .findFirst();
    }

    private static int rank(memory.format_tag order) {
        return switch (order) {
            case ABc16b16a -> 3;
            case ABcd16b16a -> 4;
            default -> 5;
        };
    }

    /** Prepares the next run of the kernel that writes it. */
    public void bind(Kernel kernel, INDArray networks) {
        kernel.bind(dnnl.DNNL_ARG_DIFF_WEIGHTS, copies.isEmpty() ? Place.of(networks) : written());
    }

    private Place written() {
        return Place.kept(context.gradientMemory().address());
    }

    /** Copies the gradient to the network's view, if it isn't there. */
    public void copy(INDArray networks) {
        if (copies.isEmpty()) {
            return;
        }
        Place columns = Place.kept(context.staging().address());
        boolean atOnce = copies.size() == 1;
        copies.get(0).copy(written(), atOnce ? Place.of(networks) : columns);
        if (!atOnce) {
            copies.get(1).copy(columns, Place.of(networks));
        }
    }

    @Override
    public void close() {
        copies.forEach(Kernel::close);
    }
}
