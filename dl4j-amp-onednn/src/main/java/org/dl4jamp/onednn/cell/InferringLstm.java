package org.dl4jamp.onednn.cell;

import java.lang.ref.Reference;
import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.lstm_forward;
import org.bytedeco.dnnl.memory;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Handle;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.weights.GateWeights;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * oneDNN's LSTM for inference, which computes all time steps of a layer in one primitive and keeps nothing. Sums,
 * functions and memory cells are FP32, outputs of the layer's type.
 */
final class InferringLstm implements AutoCloseable {
    private final OneDnnContext context;
    private final SequenceShape shape;
    private final Kernel forward;
    private final Kernel round;
    private final Kernel widen;
    private final GateWeights inputWeights;
    private final GateWeights recurrentWeights;
    private final GateWeights bias;
    private final Optional<GateWeights> peepholes;
    private final Handle handle = new Handle();

    static InferringLstm make(
            OneDnnContext context, String layer, DataType type, SequenceShape shape, LstmInference.Weights weights) {
        String what = layer + ": LSTM in inference in " + type + " for " + shape;
        return OneDnnContext.make(
                what, LstmDescription.step(shape), () -> new InferringLstm(context, what, type, shape, weights));
    }

    private InferringLstm(
            OneDnnContext context, String what, DataType type, SequenceShape shape, LstmInference.Weights weights) {
        this.context = context;
        this.shape = shape;
        long units = shape.units();
        LstmDescription lstm = new LstmDescription(type, shape, weights.hasPeepholes());
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
        return AlignedMemory.bytes(shape.block() * Float.BYTES);
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
        long before = context.staging().address();
        long memoryBefore = before + stateBytes();
        long last = memoryBefore + stateBytes();
        RecurrentState after = lastState == null ? null : lastState.room().orElseGet(this::state);
        Place memoryAfter = after == null ? Place.kept(last + stateBytes()) : Place.of(after.memory());
        begin(initial, before, memoryBefore);
        peepholes.ifPresent(
                weights -> forward.bind(dnnl.DNNL_ARG_WEIGHTS_PEEPHOLE, weights.taken(parameters.recurrentWeights())));
        forward.bind(dnnl.DNNL_ARG_SRC_LAYER, x)
                .bind(dnnl.DNNL_ARG_SRC_ITER, Place.kept(before))
                .bind(dnnl.DNNL_ARG_SRC_ITER_C, Place.kept(memoryBefore))
                .bind(dnnl.DNNL_ARG_WEIGHTS_LAYER, inputWeights.taken(parameters.inputWeights()))
                .bind(dnnl.DNNL_ARG_WEIGHTS_ITER, recurrentWeights.taken(parameters.recurrentWeights()))
                .bind(dnnl.DNNL_ARG_BIAS, bias.taken(parameters.bias()))
                .bind(dnnl.DNNL_ARG_DST_LAYER, outputs)
                .bind(dnnl.DNNL_ARG_DST_ITER, Place.kept(last))
                .bind(dnnl.DNNL_ARG_DST_ITER_C, memoryAfter)
                .run();
        if (after != null) {
            widen.copy(Place.kept(last), Place.of(after.output()));
            lastState.take(after);
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
            round.copy(Place.of(rows(initial.output())), Place.kept(output));
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
        peepholes.ifPresent(GateWeights::close);
    }
}
