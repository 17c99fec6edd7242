package org.dl4jamp.onednn.cell;

import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.lstm_forward;
import org.bytedeco.dnnl.memory;
import org.bytedeco.javacpp.Pointer;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Handle;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.onednn.weights.GateWeights;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * oneDNN's LSTM for inference, which computes all time steps of some examples in one primitive and keeps nothing. Sums,
 * functions and memory cells are FP32, outputs of the layer's type.
 */
final class InferringLstm implements AutoCloseable {
    private final OneDnnContext context;
    private final Examples examples;
    private final long block;
    /** The outputs have another type than the state, which is FP32. */
    private final boolean rounds;

    private final Kernel forward;
    private final Kernel round;
    private final Kernel widen;
    private final GateWeights inputWeights;
    private final GateWeights recurrentWeights;
    private final GateWeights bias;
    private final Optional<GateWeights> peepholes;
    private final Handle handle = new Handle();

    /**
     * Some examples of a minibatch.
     *
     * @param all the shape of the whole minibatch
     * @param first the number of the first of them
     * @param count how many there are
     */
    record Examples(SequenceShape all, long first, long count) {
        static Examples all(SequenceShape shape) {
            return new Examples(shape, 0, shape.minibatch());
        }

        /** Returns one of some parts of nearly the same size. */
        static Examples part(SequenceShape all, int number, int parts) {
            long first = number * all.minibatch() / parts;
            long next = (number + 1) * all.minibatch() / parts;
            return new Examples(all, first, next - first);
        }

        /** Returns their shape, if they were a minibatch. */
        SequenceShape shape() {
            return new SequenceShape(count, all.steps(), all.nIn(), all.units(), all.gates());
        }
    }

    /** @param work how much of it is done without waiting for other threads */
    static InferringLstm make(
            OneDnnContext context,
            String layer,
            DataType type,
            Examples examples,
            Work work,
            LstmInference.Weights weights) {
        String what = layer + ": LSTM in inference in " + type + " for " + examples.shape();
        return OneDnnContext.make(what, work, () -> new InferringLstm(context, what, type, examples, weights));
    }

    private InferringLstm(
            OneDnnContext context, String what, DataType type, Examples examples, LstmInference.Weights weights) {
        this.context = context;
        this.examples = examples;
        SequenceShape shape = examples.shape();
        this.block = shape.block();
        this.rounds = type != DataType.FLOAT;
        long units = shape.units();
        LstmDescription lstm = new LstmDescription(type, shape, examples.all().minibatch(), weights.hasPeepholes());
        lstm_forward.primitive_desc description = lstm.forward(dnnl.prop_kind.forward_inference);
        memory.desc ofInput = description.weights_layer_desc();
        memory.desc ofOutput = description.weights_iter_desc();
        memory.desc row =
                Layout.dense(DataType.FLOAT, 1, 1, 1, shape.gates(), units).descriptor();
        forward = new Kernel(context, what, description);
        round = context.copies().make(what, lstm.memories, lstm.output);
        widen = context.copies().make(what, lstm.output, lstm.memories);
        inputWeights = GateWeights.kept(context, what, shape.nIn(), units, ofInput, weights.input());
        recurrentWeights = GateWeights.kept(context, what, units, units, ofOutput, weights.recurrent());
        bias = GateWeights.kept(context, what, 1, units, row, weights.bias());
        peepholes = weights.peepholes().map(copies -> GateWeights.keptPeepholes(context, what, units, copies));
        context.staging().reserve(4 * stateBytes());
    }

    /** Returns the bytes of h or c, of either type. */
    private long stateBytes() {
        return AlignedMemory.bytes(block * Float.BYTES);
    }

    /** Takes the FP32 weights over, if they have changed. Other primitives with the same weights mustn't run then. */
    void take(RecurrentParameters parameters) {
        peepholes.ifPresent(
                weights -> forward.bind(dnnl.DNNL_ARG_WEIGHTS_PEEPHOLE, weights.taken(parameters.recurrentWeights())));
        forward.bind(dnnl.DNNL_ARG_WEIGHTS_LAYER, inputWeights.taken(parameters.inputWeights()))
                .bind(dnnl.DNNL_ARG_WEIGHTS_ITER, recurrentWeights.taken(parameters.recurrentWeights()))
                .bind(dnnl.DNNL_ARG_BIAS, bias.taken(parameters.bias()));
    }

    /**
     * Runs a forward pass of these examples with the weights {@linkplain #take taken}. All arrays have room for the
     * whole minibatch.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param before the state before the first time step, row by row
     * @param outputs where the outputs go: {@code [steps, minibatch, units]}
     * @param after where the state after the last time step goes, row by row, in other memory than that before, and
     *     also rounded if the outputs are; null if unused
     */
    void run(INDArray x, RecurrentState before, INDArray outputs, RecurrentState after) {
        long free = context.staging().address();
        SequenceShape all = examples.all();
        forward.bind(dnnl.DNNL_ARG_SRC_LAYER, Slab.of(x).plus(examples.first() * all.nIn()))
                .bind(dnnl.DNNL_ARG_SRC_ITER, outputBefore(before, free))
                .bind(dnnl.DNNL_ARG_SRC_ITER_C, rowsOrZeros(before.memory(), free + stateBytes()))
                .bind(dnnl.DNNL_ARG_DST_LAYER, Slab.of(outputs).plus(examples.first() * all.units()));
        if (after == null) {
            forward.bind(dnnl.DNNL_ARG_DST_ITER, Place.kept(free + 2 * stateBytes()))
                    .bind(dnnl.DNNL_ARG_DST_ITER_C, Place.kept(free + 3 * stateBytes()))
                    .run();
            return;
        }
        Place last = rows(rounds ? after.rounded() : after.output());
        forward.bind(dnnl.DNNL_ARG_DST_ITER, last)
                .bind(dnnl.DNNL_ARG_DST_ITER_C, rows(after.memory()))
                .run();
        if (rounds) {
            widen.copy(last, rows(after.output()));
        }
    }

    private Place outputBefore(RecurrentState before, long free) {
        if (before.output() == null || !rounds) {
            return rowsOrZeros(before.output(), free);
        }
        if (before.rounded() != null) {
            return rows(before.rounded());
        }
        Place rounded = Place.kept(free);
        round.copy(rows(before.output()), rounded);
        return rounded;
    }

    /** Returns the place of these examples in an array, or of zeros that are written to free memory. */
    private Place rowsOrZeros(INDArray state, long free) {
        if (state != null) {
            return rows(state);
        }
        Pointer.memset(handle.at(free), 0, stateBytes());
        return Place.kept(free);
    }

    /** Returns the place of these examples in an array of all of them. */
    private Place rows(INDArray state) {
        return Slab.of(state).plus(examples.first() * examples.all().units()).place();
    }

    @Override
    public void close() {
        forward.close();
        round.close();
        widen.close();
        inputWeights.close();
        recurrentWeights.close();
        bias.close();
        peepholes.ifPresent(GateWeights::close);
    }
}
