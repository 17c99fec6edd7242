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

    /** DL4J's column of each of oneDNN's peepholes, those of input gate, forget gate and output gate. */
    private static final int[] PEEPHOLES_OF_DL4J = {2, 0, 1};

    private final int[] numbersOfDl4j;
    private final long first;
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
        this(
                context,
                what,
                GATES_OF_DL4J,
                0,
                Layout.strided(
                        DataType.FLOAT,
                        new long[] {1, 1, size, 1, units},
                        size * units,
                        size * units,
                        1,
                        size * units,
                        size),
                wanted,
                gradient);
    }

    /**
     * @param numbersOfDl4j the place in DL4J's array of each of oneDNN's gates
     * @param first where that of DL4J's first gate begins
     * @param dl4j the layout of a gate in DL4J's array; oneDNN's gates are the last axis but one
     */
    private GateWeights(
            OneDnnContext context,
            String what,
            int[] numbersOfDl4j,
            long first,
            Layout dl4j,
            memory.desc wanted,
            memory.desc gradient) {
        this.numbersOfDl4j = numbersOfDl4j;
        this.first = first;
        gate = dl4j.length();
        bytes = AlignedMemory.bytes(wanted);
        memory.desc one = dl4j.descriptor();
        long[] shape = dl4j.shape();
        for (int which = 0; which < numbersOfDl4j.length; which++) {
            long[] offset = new long[shape.length];
            offset[shape.length - 2] = which;
            toPrimitive.add(context.copies().make(what, one, wanted.submemory_desc(shape, offset)));
            if (gradient != null) {
                fromPrimitive.add(context.copies().make(what, gradient.submemory_desc(shape, offset), one));
            }
        }
    }

    /** Returns oneDNN's layout of peepholes, the weights of memory cells. */
    public static memory.desc peepholes(long units) {
        return Layout.dense(DataType.FLOAT, 1, 1, PEEPHOLES_OF_DL4J.length, units)
                .descriptor();
    }

    /** Makes copies in memory that keeps them until the parameters change. */
    public static GateWeights kept(
            OneDnnContext context, String what, long size, long units, memory.desc wanted, WeightCopies copies) {
        return new GateWeights(context, what, size, units, wanted, null).keptIn(copies, wanted);
    }

    /**
     * Makes copies of peepholes in memory that keeps them until the parameters change. In DL4J's array they follow the
     * recurrent weights.
     */
    public static GateWeights keptPeepholes(OneDnnContext context, String what, long units, WeightCopies copies) {
        long first = GATES_OF_DL4J.length * units * units;
        Layout one = Layout.dense(DataType.FLOAT, 1, 1, 1, units);
        memory.desc wanted = peepholes(units);
        return new GateWeights(context, what, PEEPHOLES_OF_DL4J, first, one, wanted, null).keptIn(copies, wanted);
    }

    private GateWeights keptIn(WeightCopies copies, memory.desc wanted) {
        kept = copies.kept(wanted);
        kept.reserve(wanted.get_size());
        return this;
    }

    /** Returns how much memory the primitive's take. */
    public long bytes() {
        return bytes;
    }

    /** Copies DL4J's weights into the primitive's order. */
    public void take(INDArray masters, Place primitives) {
        for (int which = 0; which < numbersOfDl4j.length; which++) {
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
        for (int which = 0; which < numbersOfDl4j.length; which++) {
            fromPrimitive.get(which).copy(primitives, ofDl4j(gradients, which));
        }
    }

    private Place ofDl4j(INDArray all, int which) {
        return Slab.of(all).plus(first + numbersOfDl4j[which] * gate).place();
    }

    @Override
    public void close() {
        toPrimitive.forEach(Kernel::close);
        fromPrimitive.forEach(Kernel::close);
    }
}
