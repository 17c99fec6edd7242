package org.dl4jamp.onednn;

import java.util.Map;
import java.util.Optional;
import org.bytedeco.dnnl.memory;
import org.bytedeco.javacpp.LongPointer;

/** The orders in memory that oneDNN's convolutions have the gradients of their weights in: squares of 16 output channels by 16 input channels. */
final class BlockOrder {
    private static final Map<memory.format_tag, memory.format_tag> TRANSPOSED = Map.of(
            memory.format_tag.ABc16b16a, memory.format_tag.ABc16a16b,
            memory.format_tag.ABcd16b16a, memory.format_tag.ABcd16a16b,
            memory.format_tag.ABcde16b16a, memory.format_tag.ABcde16a16b);

    private BlockOrder() {}

    /** The same with the squares transposed, so that a row of each has one output channel; empty for weights in another order. */
    static Optional<memory.desc> transposed(memory.desc weights) {
        LongPointer sizes = weights.get_dims();
        long[] shape = new long[(int) sizes.limit()];
        sizes.get(shape);
        memory.data_type type = weights.get_data_type();
        return TRANSPOSED.entrySet().stream()
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
