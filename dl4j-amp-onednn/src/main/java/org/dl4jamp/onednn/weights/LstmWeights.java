package org.dl4jamp.onednn.weights;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.primitive.OneDnnContext;

/**
 * An LSTM's copies of its weights for inference: one for each pair of orders that primitives read, whatever the number
 * of shapes.
 */
public final class LstmWeights implements AutoCloseable {
    private final List<LstmWeightCopy> copies = new ArrayList<>();

    /** Returns the copy in the orders of a primitive. To be called within {@link OneDnnContext#make}. */
    public LstmWeightCopy in(memory.desc inputOrder, memory.desc recurrentOrder, memory.desc biasOrder) {
        return copies.stream()
                .filter(copy -> copy.isIn(inputOrder, recurrentOrder))
                .findFirst()
                .orElseGet(() -> add(new LstmWeightCopy(inputOrder, recurrentOrder, biasOrder)));
    }

    private LstmWeightCopy add(LstmWeightCopy copy) {
        copies.add(copy);
        return copy;
    }

    /** Marks them as stale, after a change of parameters. */
    public void outdate() {
        copies.forEach(LstmWeightCopy::outdate);
    }

    @Override
    public void close() {
        copies.forEach(LstmWeightCopy::close);
        copies.clear();
    }
}
