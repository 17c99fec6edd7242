package org.dl4jamp.onednn.product;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.array.AlignedMemory;
import org.dl4jamp.onednn.array.Handle;
import org.dl4jamp.onednn.primitive.OneDnnContext;

/**
 * Copies of one layer's weights, one for each order in memory that a primitive wants, whatever the number of shapes: the primitives of all shapes of
 * the layer's input read the same.
 */
public final class WeightCopies implements AutoCloseable {
    private record Copy(memory.desc order, AlignedMemory bytes, memory held) {}

    private final List<Copy> copies = new ArrayList<>();

    /** The one in an order, with arbitrary content if it's new. To be used within {@link OneDnnContext#make}. */
    memory in(memory.desc order) {
        return copies.stream()
                .filter(copy -> copy.order().equals(order))
                .findFirst()
                .orElseGet(() -> add(order))
                .held();
    }

    private Copy add(memory.desc order) {
        AlignedMemory bytes = new AlignedMemory();
        bytes.reserve(order.get_size());
        memory held = new memory(order, OneDnnContext.cpu(), new Handle().at(bytes.address()));
        Copy copy = new Copy(new memory.desc(order).retainReference(), bytes, held.retainReference());
        copies.add(copy);
        return copy;
    }

    @Override
    public void close() {
        copies.forEach(copy -> {
            copy.held().releaseReference();
            copy.order().releaseReference();
            copy.bytes().close();
        });
        copies.clear();
    }
}
