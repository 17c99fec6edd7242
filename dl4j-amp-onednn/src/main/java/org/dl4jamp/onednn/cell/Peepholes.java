package org.dl4jamp.onednn.cell;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.Multiplication;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.TimeStepKernels;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The peephole weights of an LSTM and their gradients, in FP32. A unit has one for each gate, which multiplies the
 * unit's own memory cell. DL4J keeps them behind the recurrent weights, gate by gate.
 */
final class Peepholes implements AutoCloseable {
    /** The gates with peepholes. */
    enum Of {
        FORGET_GATE(0),
        OUTPUT_GATE(1),
        INPUT_GATE(2);

        /** The gate's column behind the recurrent weights. */
        private final int column;

        Of(int column) {
            this.column = column;
        }
    }

    private static final long GATES = Of.values().length;

    private final SequenceShape shape;
    private final TimeStepKernels steps;
    private final Kernel sum;
    private final INDArray ones;

    /** @param steps of the same shape, to be closed by the caller */
    static Peepholes make(RecurrentCell.Setup setup, TimeStepKernels steps) {
        String what = setup.layer() + ": gradients of peepholes for " + setup.shape();
        return OneDnnContext.make(
                what,
                Work.ofNumbers(GATES * setup.shape().block()),
                () -> new Peepholes(setup.context(), what, setup.shape(), steps));
    }

    private Peepholes(OneDnnContext context, String what, SequenceShape shape, TimeStepKernels steps) {
        this.shape = shape;
        this.steps = steps;
        sum = new Multiplication(
                        context, what, floats(1, 1, shape.minibatch()), products(), floats(GATES, 1, shape.units()))
                .kernel();
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            ones = Nd4j.ones(DataType.FLOAT, shape.minibatch());
        }
    }

    private static memory.desc floats(long... sizes) {
        return Layout.dense(DataType.FLOAT, sizes).descriptor();
    }

    private memory.desc products() {
        return floats(GATES, shape.minibatch(), shape.units());
    }

    private Slab at(Of gate, INDArray recurrentWeights) {
        return Slab.of(recurrentWeights).plus((shape.columns() + gate.column) * shape.units());
    }

    /**
     * Adds memory cells, or gradients of a gate's sums, times the gate's weights.
     *
     * @param factor FLOAT {@code [minibatch, units]}
     * @param recurrentWeights DL4J's, with the peepholes' behind them
     * @param to FLOAT {@code [minibatch, units]}
     */
    void add(Of gate, Slab factor, INDArray recurrentWeights, Slab to) {
        steps.multiplyRowsAdd(factor, at(gate, recurrentWeights), to);
    }

    /** Returns room for the {@linkplain #addProducts products} of all gates, with zeros. */
    Slab noProducts(SequenceMemory memory) {
        return Slab.of(memory.zeros(DataType.FLOAT, GATES, shape.block()));
    }

    /**
     * Adds the products that a time step contributes to the gradients of a gate's weights.
     *
     * @param delta gradients of the gate's sums, FLOAT {@code [minibatch, units]}
     * @param memory the memory cells that the weights were multiplied by, FLOAT {@code [minibatch, units]}
     */
    void addProducts(Of gate, Slab delta, Slab memory, Slab products) {
        steps.multiplyAdd(delta, memory, products.plus(gate.column * shape.block()));
    }

    /**
     * Writes the gradients of the weights.
     *
     * @param recurrentGradient DL4J's, with room for the peepholes' behind it
     */
    void gradients(Slab products, INDArray recurrentGradient) {
        sum.bind(dnnl.DNNL_ARG_SRC, ones)
                .bind(dnnl.DNNL_ARG_WEIGHTS, products)
                .bind(dnnl.DNNL_ARG_DST, at(Of.FORGET_GATE, recurrentGradient))
                .run();
    }

    @Override
    public void close() {
        sum.close();
    }
}
