package org.dl4jamp.onednn.cell;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Resources;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Copies;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.Multiplication;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.onednn.weights.WeightCopy;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The products of a recurrent layer for one shape of its input. Those with the input, and the gradients of the weights,
 * are made for all time steps at once. Only those with the output of the time step before wait for it. Sums are FP32.
 */
final class SequenceProducts implements AutoCloseable {
    private final SequenceShape shape;
    private final WeightCopy weights;
    private final List<AutoCloseable> kernels = new ArrayList<>();

    private final Kernel input;
    private final Kernel recurrent;
    private final Kernel recurrentBackward;
    private final Kernel inputGradient;
    private final Kernel inputWeightGradient;
    private final Kernel recurrentWeightGradient;
    private final Kernel biasGradient;

    private final Kernel roundInputWeights;
    private final Kernel roundRecurrentWeights;
    private final Kernel roundInputWeightsBackward;
    private final Kernel roundRecurrentWeightsBackward;
    private final long inputWeightBytes;
    private final long recurrentWeightBytesBackward;
    private final INDArray ones;

    static SequenceProducts make(
            OneDnnContext context, String layer, DataType type, SequenceShape shape, WeightCopy weights) {
        String what = layer + ": products of " + type + " for " + shape;
        return OneDnnContext.make(what, Work.LARGE, () -> new SequenceProducts(context, what, type, shape, weights));
    }

    private SequenceProducts(
            OneDnnContext context, String what, DataType type, SequenceShape shape, WeightCopy weights) {
        this.shape = shape;
        this.weights = weights;
        long rows = shape.rows();
        long minibatch = shape.minibatch();
        long units = shape.units();
        long nIn = shape.nIn();
        long columns = shape.columns();
        int gates = shape.gates();
        DataType sums = DataType.FLOAT;

        Multiplication ofInput = new Multiplication(
                        context, what, dense(type, rows, nIn), Layout.any(type, nIn, units), dense(sums, rows, units))
                .plus(dense(sums, 1, units));
        Multiplication ofOutput = new Multiplication(
                        context,
                        what,
                        dense(type, 1, minibatch, units),
                        Layout.any(type, gates, units, units),
                        strided(sums, new long[] {gates, minibatch, units}, shape.gate(), units, 1))
                .adding();
        Multiplication ofDelta = new Multiplication(
                        context,
                        what,
                        dense(type, minibatch, columns),
                        Layout.any(type, columns, units),
                        dense(sums, minibatch, units))
                .adding();
        Multiplication ofDeltas = new Multiplication(
                context, what, dense(type, rows, columns), Layout.any(type, columns, nIn), dense(type, rows, nIn));
        memory.desc turnedDeltas = strided(type, new long[] {columns, rows}, 1, columns);

        input = add(ofInput.kernel());
        recurrent = add(ofOutput.kernel());
        recurrentBackward = add(ofDelta.kernel());
        inputGradient = add(ofDeltas.kernel());
        inputWeightGradient =
                add(new Multiplication(context, what, turnedDeltas, dense(type, rows, nIn), dense(sums, columns, nIn))
                        .kernel());
        recurrentWeightGradient = add(
                new Multiplication(context, what, turnedDeltas, dense(type, rows, units), dense(sums, columns, units))
                        .kernel());
        biasGradient = add(new Multiplication(
                        context, what, dense(type, 1, rows), dense(type, rows, columns), dense(sums, 1, columns))
                .kernel());

        Copies copies = context.copies();
        // DL4J's weights are stored column by column.
        memory.desc inputMaster = strided(sums, new long[] {nIn, units}, 1, nIn);
        memory.desc recurrentMaster = strided(sums, new long[] {gates, units, units}, units * units, 1, units);
        roundInputWeights = add(copies.make(what, inputMaster, ofInput.weightsOrder()));
        roundRecurrentWeights = add(copies.make(what, recurrentMaster, ofOutput.weightsOrder()));
        roundInputWeightsBackward = add(copies.make(what, dense(sums, columns, nIn), ofDeltas.weightsOrder()));
        roundRecurrentWeightsBackward = add(copies.make(what, dense(sums, columns, units), ofDelta.weightsOrder()));

        inputWeightBytes = AlignedMemory.bytes(ofInput.weightsOrder());
        recurrentWeightBytesBackward = AlignedMemory.bytes(ofDelta.weightsOrder());
        weights.reserve(Math.max(
                gates * inputWeightBytes + AlignedMemory.bytes(ofOutput.weightsOrder()),
                recurrentWeightBytesBackward + AlignedMemory.bytes(ofDeltas.weightsOrder())));
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            ones = Nd4j.ones(type, rows);
        }
    }

    private static memory.desc dense(DataType type, long... shape) {
        return Layout.dense(type, shape).descriptor();
    }

    private static memory.desc strided(DataType type, long[] shape, long... strides) {
        return Layout.strided(type, shape, strides).descriptor();
    }

    private <T extends AutoCloseable> T add(T kernel) {
        kernels.add(kernel);
        return kernel;
    }

    private Place inputWeights(int gate) {
        return weights.place(gate * inputWeightBytes);
    }

    private Place recurrentWeights() {
        return inputWeights(shape.gates());
    }

    private Place recurrentWeightsBackward() {
        return weights.place(0);
    }

    private Place inputWeightsBackward() {
        return weights.place(recurrentWeightBytesBackward);
    }

    /** Takes the FP32 master weights over for a forward pass. */
    void takeWeights(RecurrentParameters masters) {
        if (weights.isCurrent() && weights.isOf(this)) {
            return;
        }
        for (int gate = 0; gate < shape.gates(); gate++) {
            Slab from = Slab.of(masters.inputWeights()).plus(gate * shape.nIn() * shape.units());
            roundInputWeights.copy(from.place(), inputWeights(gate));
        }
        roundRecurrentWeights.copy(Place.of(masters.recurrentWeights()), recurrentWeights());
        weights.takenBy(this);
    }

    /** Takes them over for a backward pass, in place of those for a forward pass. */
    void takeWeightsBackward(RecurrentParameters masters) {
        roundInputWeightsBackward.copy(Place.of(masters.inputWeights()), inputWeightsBackward());
        roundRecurrentWeightsBackward.copy(Place.of(masters.recurrentWeights()), recurrentWeightsBackward());
    }

    /**
     * Computes input times weights plus bias for all time steps.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param bias {@code gates * units} numbers
     * @param sums FLOAT {@code [gates, steps, minibatch, units]}
     */
    void input(INDArray x, INDArray bias, Slab sums) {
        for (int gate = 0; gate < shape.gates(); gate++) {
            input.bind(dnnl.DNNL_ARG_SRC, x)
                    .bind(dnnl.DNNL_ARG_WEIGHTS, inputWeights(gate))
                    .bind(dnnl.DNNL_ARG_BIAS, Slab.of(bias).plus(gate * shape.units()))
                    .bind(dnnl.DNNL_ARG_DST, sums.plus(gate * shape.gate()))
                    .run();
        }
    }

    /**
     * Adds the output of the time step before times its weights.
     *
     * @param before {@code [minibatch, units]}
     * @param sums the time step's part of those of the first gate, see {@link #input}
     */
    void recurrent(Slab before, Slab sums) {
        run(recurrent, before.place(), recurrentWeights(), sums.place());
    }

    /**
     * Adds the gradient that comes from the time step after.
     *
     * @param delta of the time step after, {@code [minibatch, gates * units]}
     * @param error of the output, FLOAT {@code [minibatch, units]}
     */
    void recurrentBackward(Slab delta, Slab error) {
        run(recurrentBackward, delta.place(), recurrentWeightsBackward(), error.place());
    }

    /**
     * Computes the gradient of the input.
     *
     * @param deltas {@code [steps, minibatch, gates * units]}
     * @param gradient {@code [steps, minibatch, nIn]}
     */
    void inputGradient(INDArray deltas, INDArray gradient) {
        run(inputGradient, Place.of(deltas), inputWeightsBackward(), Place.of(gradient));
    }

    /**
     * Writes the gradients of the parameters.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param before the outputs of the time step before each, {@code [steps, minibatch, units]}
     * @param deltas {@code [steps, minibatch, gates * units]}
     * @param gradients in the parameters' order
     */
    void weightGradients(INDArray x, Slab before, INDArray deltas, RecurrentParameters gradients) {
        Place all = Place.of(deltas);
        run(inputWeightGradient, all, Place.of(x), Place.of(gradients.inputWeights()));
        run(recurrentWeightGradient, all, before.place(), Place.of(gradients.recurrentWeights()));
        run(biasGradient, Place.of(ones), all, Place.of(gradients.bias()));
    }

    private static void run(Kernel product, Place one, Place other, Place target) {
        product.bind(dnnl.DNNL_ARG_SRC, one)
                .bind(dnnl.DNNL_ARG_WEIGHTS, other)
                .bind(dnnl.DNNL_ARG_DST, target)
                .run();
    }

    @Override
    public void close() {
        kernels.forEach(Resources::close);
    }
}
