package org.dl4jamp.onednn.recurrent;

import java.lang.ref.Reference;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.lstm_forward;
import org.bytedeco.dnnl.memory;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Handle;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.onednn.weights.GateWeights;
import org.dl4jamp.onednn.weights.LstmWeightCopy;
import org.dl4jamp.onednn.weights.LstmWeights;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * oneDNN's LSTM for inference, which computes all time steps of a layer in one primitive and keeps nothing. Sums,
 * functions and memory cells are FP32, outputs of the layer's type.
 */
final class InferringLstm implements AutoCloseable {
    private static final int GATES = LstmCell.GATES;
    private static final int CACHE_LINE = 64;

    private final OneDnnContext context;
    private final SequenceShape shape;
    private final Kernel forward;
    private final Kernel round;
    private final Kernel widen;
    private final GateWeights inputWeights;
    private final GateWeights recurrentWeights;
    private final GateWeights bias;
    private final LstmWeightCopy weights;
    private final Handle handle = new Handle();

    static InferringLstm make(
            OneDnnContext context, String layer, DataType type, SequenceShape shape, LstmWeights weights) {
        String what = layer + ": LSTM in inference in " + type + " for " + shape;
        // Its threads wait for one another after each time step.
        Work step = Work.ofProducts(shape.block() * GATES * (shape.nIn() + shape.units()));
        return OneDnnContext.make(what, step, () -> new InferringLstm(context, what, type, shape, weights));
    }

    private InferringLstm(OneDnnContext context, String what, DataType type, SequenceShape shape, LstmWeights weights) {
        this.context = context;
        this.shape = shape;
        long units = shape.units();
        memory.desc input = dense(type, shape.steps(), shape.minibatch(), shape.nIn());
        memory.desc outputs = dense(type, shape.steps(), shape.minibatch(), units);
        memory.desc output = dense(type, 1, 1, shape.minibatch(), units);
        memory.desc state = dense(DataType.FLOAT, 1, 1, shape.minibatch(), units);
        memory.desc biases = dense(DataType.FLOAT, 1, 1, GATES, units);
        lstm_forward.primitive_desc description = new lstm_forward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.prop_kind.forward_inference,
                dnnl.rnn_direction.unidirectional_left2right,
                input,
                output,
                state,
                Layout.any(type, 1, 1, shape.nIn(), GATES, units),
                Layout.any(type, 1, 1, units, GATES, units),
                biases,
                outputs,
                output,
                state,
                OneDnnContext.attributes(),
                false);
        memory.desc ofInput = description.weights_layer_desc();
        memory.desc ofOutput = description.weights_iter_desc();
        forward = new Kernel(context, what, description, new lstm_forward(description))
                .argument(dnnl.DNNL_ARG_SRC_LAYER, input)
                .argument(dnnl.DNNL_ARG_SRC_ITER, output)
                .argument(dnnl.DNNL_ARG_SRC_ITER_C, state)
                .argument(dnnl.DNNL_ARG_WEIGHTS_LAYER, ofInput)
                .argument(dnnl.DNNL_ARG_WEIGHTS_ITER, ofOutput)
                .argument(dnnl.DNNL_ARG_BIAS, biases)
                .argument(dnnl.DNNL_ARG_DST_LAYER, outputs)
                .argument(dnnl.DNNL_ARG_DST_ITER, output)
                .argument(dnnl.DNNL_ARG_DST_ITER_C, state);
        round = copy(context, what, state, output);
        widen = copy(context, what, output, state);
        this.weights = weights.in(ofInput, ofOutput, biases);
        inputWeights = new GateWeights(context, what, shape.nIn(), units, ofInput, null);
        recurrentWeights = new GateWeights(context, what, units, units, ofOutput, null);
        bias = new GateWeights(context, what, 1, units, dense(DataType.FLOAT, 1, 1, 1, GATES, units), null);
        context.staging().reserve(4 * stateBytes());
    }

    private static memory.desc dense(DataType type, long... shape) {
        return Layout.dense(type, shape).descriptor();
    }

    private static Kernel copy(OneDnnContext context, String what, memory.desc from, memory.desc to) {
        return context.copies()
                .kernel(what, from, to)
                .argument(dnnl.DNNL_ARG_FROM, from)
                .argument(dnnl.DNNL_ARG_TO, to);
    }

    private static void copy(Kernel kernel, Place from, Place to) {
        kernel.bind(dnnl.DNNL_ARG_FROM, from).bind(dnnl.DNNL_ARG_TO, to).run();
    }

    /** Returns the bytes of h or c, of either type. */
    private long stateBytes() {
        return (shape.block() * Float.BYTES + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    }

    /**
     * Runs a forward pass.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param outputs where the outputs go: {@code [steps, minibatch, units]}
     * @param lastState takes the state after the last time step; null if unused
     */
    void run(
            INDArray x, RecurrentParameters parameters, RecurrentState initial, INDArray outputs, LastState lastState) {
        takeWeights(parameters);
        long before = context.staging().address();
        long memoryBefore = before + stateBytes();
        long last = memoryBefore + stateBytes();
        RecurrentState after = lastState == null ? null : lastState.room().orElseGet(this::state);
        Place memoryAfter = after == null ? Place.kept(last + stateBytes()) : Place.of(after.memory());
        begin(initial, before, memoryBefore);
        forward.bind(dnnl.DNNL_ARG_SRC_LAYER, x)
                .bind(dnnl.DNNL_ARG_SRC_ITER, Place.kept(before))
                .bind(dnnl.DNNL_ARG_SRC_ITER_C, Place.kept(memoryBefore))
                .bind(dnnl.DNNL_ARG_WEIGHTS_LAYER, weights.inputWeights())
                .bind(dnnl.DNNL_ARG_WEIGHTS_ITER, weights.recurrentWeights())
                .bind(dnnl.DNNL_ARG_BIAS, weights.bias())
                .bind(dnnl.DNNL_ARG_DST_LAYER, outputs)
                .bind(dnnl.DNNL_ARG_DST_ITER, Place.kept(last))
                .bind(dnnl.DNNL_ARG_DST_ITER_C, memoryAfter)
                .run();
        if (after != null) {
            copy(widen, Place.kept(last), Place.of(after.output()));
            lastState.take(after);
        }
    }

    private void takeWeights(RecurrentParameters parameters) {
        if (!weights.isCurrent()) {
            inputWeights.take(Slab.of(parameters.inputWeights()), weights.inputWeights());
            recurrentWeights.take(Slab.of(parameters.recurrentWeights()), weights.recurrentWeights());
            bias.take(Slab.of(parameters.bias()), weights.bias());
            weights.made();
        }
    }

    private RecurrentState state() {
        return new RecurrentState(stateArray(), stateArray());
    }

    private INDArray stateArray() {
        return Workspaces.dense(
                LayerWorkspaceMgr.noWorkspaces(),
                ArrayType.ACTIVATIONS,
                DataType.FLOAT,
                shape.minibatch(),
                shape.units());
    }

    private void begin(RecurrentState initial, long output, long memory) {
        if (initial.isZero()) {
            Pointer.memset(handle.at(output), 0, 2 * stateBytes());
        } else {
            copy(round, Place.of(rows(initial.output())), Place.kept(output));
            INDArray cells = rows(initial.memory());
            try {
                Pointer.memcpy(
                        handle.at(memory), new Handle().at(Workspaces.address(cells)), shape.block() * Float.BYTES);
            } finally {
                Reference.reachabilityFence(cells);
            }
        }
    }

    /** Returns the numbers of an array that a program may have set, in FP32 and row by row. */
    private INDArray rows(INDArray state) {
        boolean usual =
                Layout.dense(DataType.FLOAT, shape.minibatch(), shape.units()).isThatOf(state);
        return usual ? state : state.castTo(DataType.FLOAT).dup('c');
    }

    @Override
    public void close() {
        forward.close();
        round.close();
        widen.close();
        inputWeights.close();
        recurrentWeights.close();
        bias.close();
    }
}
