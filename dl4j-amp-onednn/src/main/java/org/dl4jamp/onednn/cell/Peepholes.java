package org.dl4jamp.onednn.cell;

import java.util.Optional;
import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.Multiplication;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.onednn.twin.TimeStepKernels;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The peephole weights of an LSTM and their gradients, in FP32. A unit has one for each gate, which multiplies the
 * unit's own memory cell. DL4J keeps them behind the recurrent weights, gate by gate. Gates have {@link LstmCell}'s
 * numbers.
 */
final class Peepholes implements AutoCloseable {
    /** All gates of the LSTM but the first have peepholes, in the same order. */
    private static final long GATES = LstmCell.GATES - 1L;

    private final SequenceShape shape;
    private final TimeStepKernels steps;
    private final Kernel add;
    private final Kernel addAll;
    private final Kernel sum;
    private final INDArray ones;

    /**
     * @param steps of the same shape, to be closed by the caller
     * @param gate the gates' function, to be applied to sums at once; empty if the caller does
     */
    static Peepholes make(RecurrentCell.Setup setup, TimeStepKernels steps, Optional<Eltwise> gate) {
        String what = setup.layer() + ": peepholes for " + setup.shape();
        return OneDnnContext.make(
                what,
                Work.ofNumbers(GATES * setup.shape().gate()),
                () -> new Peepholes(setup.context(), what, setup.shape(), steps, gate));
    }

    private Peepholes(
            OneDnnContext context, String what, SequenceShape shape, TimeStepKernels steps, Optional<Eltwise> gate) {
        this.shape = shape;
        this.steps = steps;
        add = Work.ofNumbers(shape.block()).withItsThreads(() -> add(context, what, shape.minibatch(), gate));
        addAll = add(context, what, shape.rows(), Optional.empty());
        sum = new Multiplication(
                        context, what, floats(1, 1, shape.minibatch()), products(), floats(GATES, 1, shape.units()))
                .kernel();
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            ones = Nd4j.ones(DataType.FLOAT, shape.minibatch());
        }
    }

    private Kernel add(OneDnnContext context, String what, long rows, Optional<Eltwise> function) {
        post_ops after = new post_ops();
        after.append_sum();
        function.ifPresent(each -> after.append_eltwise(each.function(), each.alpha(), each.beta()));
        primitive_attr attributes = OneDnnContext.attributes();
        attributes.set_post_ops(after);
        memory.desc array = floats(rows, shape.units());
        binary.primitive_desc description = new binary.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.algorithm.binary_mul,
                array,
                floats(1, shape.units()),
                array,
                attributes,
                false);
        return new Kernel(context, what, description);
    }

    private static memory.desc floats(long... sizes) {
        return Layout.dense(DataType.FLOAT, sizes).descriptor();
    }

    private memory.desc products() {
        return floats(GATES, shape.minibatch(), shape.units());
    }

    private Slab at(int gate, INDArray recurrentWeights) {
        return Slab.of(recurrentWeights).plus((shape.columns() + column(gate)) * shape.units());
    }

    private static long column(int gate) {
        return (long) gate - LstmCell.FORGET;
    }

    /**
     * Adds memory cells times the gate's weights to the gate's sums of a time step. Then applies the gate's function if
     * this was made with it.
     *
     * @param memory FLOAT {@code [minibatch, units]}
     * @param recurrentWeights DL4J's, with the peepholes' behind them
     * @param sums FLOAT {@code [minibatch, units]}
     */
    void add(int gate, Slab memory, INDArray recurrentWeights, Slab sums) {
        run(add, memory, at(gate, recurrentWeights), sums);
    }

    /**
     * Adds something times the gate's weights, for all time steps.
     *
     * @param factor FLOAT {@code [steps, minibatch, units]}
     * @param recurrentWeights DL4J's, with the peepholes' behind them
     * @param to FLOAT {@code [steps, minibatch, units]}
     */
    void addAll(int gate, Slab factor, INDArray recurrentWeights, Slab to) {
        run(addAll, factor, at(gate, recurrentWeights), to);
    }

    private static void run(Kernel kernel, Slab rows, Slab weights, Slab sums) {
        kernel.bind(dnnl.DNNL_ARG_SRC_0, rows)
                .bind(dnnl.DNNL_ARG_SRC_1, weights)
                .bind(dnnl.DNNL_ARG_DST, sums)
                .run();
    }

    /** Returns room for the {@linkplain #addProducts products} of all gates, with zeros. */
    Slab noProducts(SequenceMemory memory) {
        return Slab.of(memory.zeros(DataType.FLOAT, GATES, shape.block()));
    }

    /**
     * Adds the products that a time step contributes to the gradients of a gate's weights.
     *
     * @param memory the memory cells that the weights were multiplied by, FLOAT {@code [minibatch, units]}
     * @param delta gradients of the gate's sums, of the layer's type, {@code [minibatch, units]}
     */
    void addProducts(int gate, Slab memory, Slab delta, Slab products) {
        steps.multiplyAddKept(memory, delta, products.plus(column(gate) * shape.block()));
    }

    /**
     * Writes the gradients of the weights.
     *
     * @param recurrentGradient DL4J's, with room for the peepholes' behind it
     */
    void gradients(Slab products, INDArray recurrentGradient) {
        sum.bind(dnnl.DNNL_ARG_SRC, ones)
                .bind(dnnl.DNNL_ARG_WEIGHTS, products)
                .bind(dnnl.DNNL_ARG_DST, at(LstmCell.FORGET, recurrentGradient))
                .run();
    }

    @Override
    public void close() {
        add.close();
        addAll.close();
        sum.close();
    }
}
