package org.dl4jamp.onednn.weights;

import org.bytedeco.dnnl.memory;
import org.bytedeco.javacpp.Pointer;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Handle;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.primitive.OneDnnContext;

/**
 * An LSTM's weights and biases for inference, in the orders in memory of some of oneDNN's primitives. Made once, they
 * are valid until the parameters change.
 */
public final class LstmWeightCopy implements AutoCloseable {
    private static final int CACHE_LINE = 64;

    private final memory.desc inputOrder;
    private final memory.desc recurrentOrder;
    private final AlignedMemory bytes = new AlignedMemory();
    private final long inputBytes;
    private final long recurrentBytes;
    private boolean current;

    /** Makes the memory; to be called within {@link OneDnnContext#make}. */
    LstmWeightCopy(memory.desc inputOrder, memory.desc recurrentOrder, memory.desc biasOrder) {
        this.inputOrder = new memory.desc(inputOrder).retainReference();
        this.recurrentOrder = new memory.desc(recurrentOrder).retainReference();
        inputBytes = aligned(inputOrder);
        recurrentBytes = aligned(recurrentOrder);
        long all = inputBytes + recurrentBytes + aligned(biasOrder);
        bytes.reserve(all);
        // Orders in blocks have room beyond the last unit, which has to be zero.
        Pointer.memset(new Handle().at(bytes.address()), 0, all);
    }

    private static long aligned(memory.desc order) {
        return (order.get_size() + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    }

    boolean isIn(memory.desc wantedInputOrder, memory.desc wantedRecurrentOrder) {
        return inputOrder.equals(wantedInputOrder) && recurrentOrder.equals(wantedRecurrentOrder);
    }

    public Place inputWeights() {
        return Place.kept(bytes.address());
    }

    public Place recurrentWeights() {
        return Place.kept(bytes.address() + inputBytes);
    }

    public Place bias() {
        return Place.kept(bytes.address() + inputBytes + recurrentBytes);
    }

    /** Returns whether it equals the current parameters. */
    public boolean isCurrent() {
        return current;
    }

    /** Marks it as current. */
    public void made() {
        current = true;
    }

    /** Marks it as stale, after a change of parameters. */
    void outdate() {
        current = false;
    }

    @Override
    public void close() {
        inputOrder.releaseReference();
        recurrentOrder.releaseReference();
        bytes.close();
    }
}
