package org.dl4jamp.onednn.primitive;

import java.util.Map;
import java.util.Optional;
import org.bytedeco.dnnl.memory;
import org.bytedeco.javacpp.LongPointer;

/**
 * The orders in memory that oneDNN's convolutions have the gradients of their weights in: squares of 16 output channels
 * by 16 input channels.
 */
public final class BlockOrder {
    private static final Map<memory.format_tag, memory.format_tag> COLUMNS = Map.of(
            memory.format_tag.ABc16b16a, memory.format_tag.Abc16a,
            memory.format_tag.ABcd16b16a, memory.format_tag.Abcd16a,
            memory.format_tag.ABcde16b16a, memory.format_tag.Abcde16a);

    private BlockOrder() {}

    /**
     * Returns the order halfway to plain weights: columns of 16 output channels, with the input channels one after the
     * other. Empty for weights in another order than squares.
     */
    public static Optional<memory.desc> columns(memory.desc weights) {
        LongPointer sizes = weights.get_dims();
        long[] shape = new long[(int) sizes.limit()];
        sizes.get(shape);
        memory.data_type type = weights.get_data_type();
        return COLUMNS.entrySet().stream()
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
}
