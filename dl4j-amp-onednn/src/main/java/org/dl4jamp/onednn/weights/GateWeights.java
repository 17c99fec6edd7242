package org.dl4jamp.onednn.weights;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Copies FP32 weights of an LSTM between DL4J's order, column by column, and that of oneDNN's primitive. It copies gate
 * by gate, because the two order the gates differently.
 */
public final class GateWeights implements AutoCloseable {
    /** DL4J's number of each of oneDNN's gates: input gate, forget gate, candidate, output gate. */
    private static final int[] GATES_OF_DL4J = {3, 1, 0, 2};

    private final long gate;
    private final long bytes;
    private final List<Kernel> toPrimitive = new ArrayList<>();
    private final List<Kernel> fromPrimitive = new ArrayList<>();
    private WeightCopy kept;

    /**
     * Makes the copies; to be called within {@link OneDnnContext#make}.
     *
     * @param size number of rows of the weights
     * @param wanted the layout that the primitive reads: {@code [1, 1, size, gates, units]}
     * @param gradient the layout of their gradient; null if none is copied
     */
    public GateWeights(
            OneDnnContext context, String what, long size, long units, memory.desc wanted, memory.desc gradient) {
        gate = size * units;
        bytes = AlignedMemory.bytes(wanted);
        long[] shape = {1, 1, size, 1, units};
        memory.desc dl4j =
                Layout.strided(DataType.FLOAT, shape, gate, gate, 1, gate, size).descriptor();
        for (int which = 0; which < GATES_OF_DL4J.length; which++) {
            long[] offset = {0, 0, 0, which, 0};
            toPrimitive.add(context.copies().make(what, dl4j, wanted.submemory_desc(shape, offset)));
            if (gradient != null) {
                fromPrimitive.add(context.copies().make(what, gradient.submemory_desc(shape, offset), dl4j));
            }
        }
    }

    /** Makes copies in memory that keeps them until the parameters change. */
    public static GateWeights kept(
            OneDnnContext context, String what, long size, long units, memory.desc wanted, WeightCopies copies) {
        GateWeights weights = new GateWeights(context, what, size, units, wanted, null);
        weights.kept = copies.kept(wanted);
        weights.kept.reserve(wanted.get_size());
        return weights;
    }

    /** Returns how much memory the primitive's take. */
    public long bytes() {
        return bytes;
    }

    /** Copies DL4J's weights into the primitive's order. */
    public void take(INDArray masters, Place primitives) {
        for (int which = 0; which < GATES_OF_DL4J.length; which++) {
            toPrimitive.get(which).copy(ofDl4j(masters, which), primitives);
        }
    }

    /** Returns kept weights, and copies them before if they have changed. */
    public Place taken(INDArray masters) {
        if (!kept.isCurrent()) {
            // Orders in blocks have room beyond the last unit, which has to be zero.
            kept.clear();
            take(masters, kept.place());
            kept.takenBy(this);
        }
        return kept.place();
    }

    /** Copies a gradient that the primitive has made. */
    public void give(Place primitives, INDArray gradients) {
        for (int which = 0; which < GATES_OF_DL4J.length; which++) {
            fromPrimitive.get(which).copy(primitives, ofDl4j(gradients, which));
        }
    }

    private Place ofDl4j(INDArray all, int which) {
        return Slab.of(all).plus(GATES_OF_DL4J[which] * gate).place();
    }

    @Override
    public void close() {
        toPrimitive.forEach(Kernel::close);
        fromPrimitive.forEach(Kernel::close);
    }
}
