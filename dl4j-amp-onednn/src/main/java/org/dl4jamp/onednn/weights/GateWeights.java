package org.dl4jamp.onednn.weights;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * Copies FP32 weights of an LSTM between DL4J's order, column by column, and that of oneDNN's primitive. It copies gate
 * by gate, because the two order the gates differently.
 */
public final class GateWeights implements AutoCloseable {
    /** DL4J's number of each of oneDNN's gates: input gate, forget gate, candidate, output gate. */
    private static final int[] GATES_OF_DL4J = {3, 1, 0, 2};

    private final long size;
    private final long units;
    private final List<Kernel> toPrimitive = new ArrayList<>();
    private final List<Kernel> fromPrimitive = new ArrayList<>();

    /**
     * Makes the copies; to be called within {@link OneDnnContext#make}.
     *
     * @param size number of rows of the weights
     * @param wanted the layout that the primitive reads: {@code [1, 1, size, gates, units]}
     * @param gradient the layout of their gradient; null if none is copied
     */
    public GateWeights(
            OneDnnContext context, String what, long size, long units, memory.desc wanted, memory.desc gradient) {
        this.size = size;
        this.units = units;
        long[] shape = {1, 1, size, 1, units};
        long all = size * units;
        memory.desc dl4j =
                Layout.strided(DataType.FLOAT, shape, all, all, 1, all, size).descriptor();
        for (int gate = 0; gate < GATES_OF_DL4J.length; gate++) {
            long[] offset = {0, 0, 0, gate, 0};
            if (wanted != null) {
                toPrimitive.add(copy(context, what, dl4j, wanted.submemory_desc(shape, offset)));
            }
            if (gradient != null) {
                fromPrimitive.add(copy(context, what, gradient.submemory_desc(shape, offset), dl4j));
            }
        }
    }

    private static Kernel copy(OneDnnContext context, String what, memory.desc from, memory.desc to) {
        return context.copies()
                .kernel(what, from, to)
                .argument(dnnl.DNNL_ARG_FROM, from)
                .argument(dnnl.DNNL_ARG_TO, to);
    }

    /**
     * Copies weights.
     *
     * @param masters DL4J's
     * @param primitives where the primitive's go
     */
    public void take(Slab masters, Place primitives) {
        for (int gate = 0; gate < GATES_OF_DL4J.length; gate++) {
            toPrimitive
                    .get(gate)
                    .bind(dnnl.DNNL_ARG_FROM, ofDl4j(masters, gate))
                    .bind(dnnl.DNNL_ARG_TO, primitives)
                    .run();
        }
    }

    /** Copies a gradient that the primitive has made. */
    public void give(Place primitives, Slab gradients) {
        for (int gate = 0; gate < GATES_OF_DL4J.length; gate++) {
            fromPrimitive
                    .get(gate)
                    .bind(dnnl.DNNL_ARG_FROM, primitives)
                    .bind(dnnl.DNNL_ARG_TO, ofDl4j(gradients, gate))
                    .run();
        }
    }

    private Slab ofDl4j(Slab all, int gate) {
        return all.plus(GATES_OF_DL4J[gate] * size * units);
    }

    @Override
    public void close() {
        toPrimitive.forEach(Kernel::close);
        fromPrimitive.forEach(Kernel::close);
    }
}
