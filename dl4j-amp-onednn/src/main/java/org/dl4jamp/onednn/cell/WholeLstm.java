package org.dl4jamp.onednn.cell;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.lstm_backward;
import org.bytedeco.dnnl.lstm_forward;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.AlignedMemory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.weights.GateWeights;
import org.dl4jamp.onednn.weights.WeightCopy;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * oneDNN's LSTM, which computes all time steps of a layer in one primitive, in FP32. It has hyperbolic tangent and
 * sigmoid as functions, no masks, and gradients that flow back to the first time step. With peepholes it takes as long
 * as step by step, so it has none here.
 */
final class WholeLstm implements AutoCloseable {
    private final SequenceShape shape;
    private final WeightCopy weights;
    private final Kernel forward;
    private final Kernel backward;
    private final GateWeights inputWeights;
    private final GateWeights recurrentWeights;
    private final GateWeights inputWeightsBackward;
    private final GateWeights recurrentWeightsBackward;
    private final GateWeights bias;
    private final long inputGradientNumbers;
    private final long recurrentGradientNumbers;
    private final long keptNumbers;

    /**
     * The trace of a forward pass.
     *
     * @param outputs {@code [steps + 1, minibatch, units]}
     * @param memories before the first and after the last time step: {@code [2, minibatch, units]}
     * @param biases in oneDNN's order
     * @param kept oneDNN's workspace
     * @param last the state after the last time step
     */
    record Trace(INDArray outputs, INDArray memories, INDArray biases, INDArray kept, RecurrentState last)
            implements RecurrentCell.Trace {
        @Override
        public boolean isTruncatable() {
            return false;
        }
    }

    static WholeLstm make(RecurrentCell.Setup setup) {
        SequenceShape shape = setup.shape();
        String what = setup.layer() + ": LSTM for " + shape;
        return OneDnnContext.make(
                what, LstmDescription.step(shape), () -> new WholeLstm(setup.context(), what, shape, setup.weights()));
    }

    private WholeLstm(OneDnnContext context, String what, SequenceShape shape, WeightCopy weights) {
        this.shape = shape;
        this.weights = weights;
        long units = shape.units();
        LstmDescription lstm = new LstmDescription(DataType.FLOAT, shape, shape.minibatch(), false);
        lstm_forward.primitive_desc first = lstm.forward(dnnl.prop_kind.forward_training);
        lstm_backward.primitive_desc second = lstm.backward(first);
        forward = new Kernel(context, what, first);
        backward = new Kernel(context, what + ", backward", second);
        inputWeights = new GateWeights(
                context, what, shape.nIn(), units, first.weights_layer_desc(), second.diff_weights_layer_desc());
        recurrentWeights = new GateWeights(
                context, what, units, units, first.weights_iter_desc(), second.diff_weights_iter_desc());
        inputWeightsBackward = new GateWeights(context, what, shape.nIn(), units, second.weights_layer_desc(), null);
        recurrentWeightsBackward = new GateWeights(context, what, units, units, second.weights_iter_desc(), null);
        memory.desc row =
                Layout.dense(DataType.FLOAT, 1, 1, 1, shape.gates(), units).descriptor();
        bias = new GateWeights(context, what, 1, units, row, row);
        inputGradientNumbers = AlignedMemory.bytes(second.diff_weights_layer_desc()) / Float.BYTES;
        recurrentGradientNumbers = AlignedMemory.bytes(second.diff_weights_iter_desc()) / Float.BYTES;
        keptNumbers = AlignedMemory.bytes(first.workspace_desc()) / Float.BYTES;
    }

    /**
     * Runs a forward pass.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param outputs {@code [steps + 1, minibatch, units]}, with the state before in front
     * @param memories {@code [2, minibatch, units]}, with the state before in front
     */
    Trace forward(
            INDArray x, RecurrentParameters parameters, INDArray outputs, INDArray memories, SequenceMemory memory) {
        long block = shape.block();
        weights.reserve(inputWeights.bytes() + recurrentWeights.bytes());
        inputWeights.take(parameters.inputWeights(), weights.place(0));
        Place recurrent = weights.place(inputWeights.bytes());
        recurrentWeights.take(parameters.recurrentWeights(), recurrent);
        INDArray biases = memory.create(DataType.FLOAT, shape.gates() * shape.units());
        bias.take(parameters.bias(), Place.of(biases));
        INDArray kept = memory.create(DataType.FLOAT, keptNumbers);
        INDArray last = memory.create(DataType.FLOAT, shape.minibatch(), shape.units());
        Slab memoryAfter = Slab.of(memories).plus(block);
        Trace trace = new Trace(
                outputs,
                memories,
                biases,
                kept,
                new RecurrentState(last, memoryAfter.vector(block).reshape(shape.minibatch(), shape.units())));
        bind(forward, x, trace, recurrent).run();
        return trace;
    }

    private Kernel bind(Kernel kernel, INDArray x, Trace trace, Place recurrent) {
        long block = shape.block();
        return kernel.bind(dnnl.DNNL_ARG_SRC_LAYER, x)
                .bind(dnnl.DNNL_ARG_SRC_ITER, trace.outputs())
                .bind(dnnl.DNNL_ARG_SRC_ITER_C, trace.memories())
                .bind(dnnl.DNNL_ARG_WEIGHTS_LAYER, weights.place(0))
                .bind(dnnl.DNNL_ARG_WEIGHTS_ITER, recurrent)
                .bind(dnnl.DNNL_ARG_BIAS, trace.biases())
                .bind(dnnl.DNNL_ARG_DST_LAYER, Slab.of(trace.outputs()).plus(block))
                .bind(dnnl.DNNL_ARG_DST_ITER, trace.last().output())
                .bind(dnnl.DNNL_ARG_DST_ITER_C, Slab.of(trace.memories()).plus(block))
                .bind(dnnl.DNNL_ARG_WORKSPACE, trace.kept());
    }

    void backward(Trace trace, RecurrentCell.Backward pass) {
        SequenceMemory memory = pass.memory();
        INDArray inputGradient = pass.inputGradient() == null
                ? memory.create(DataType.FLOAT, pass.x().shape())
                : pass.inputGradient();
        RecurrentParameters parameters = pass.parameters();
        RecurrentParameters gradients = pass.gradients();
        weights.reserve(inputWeightsBackward.bytes() + recurrentWeightsBackward.bytes());
        inputWeightsBackward.take(parameters.inputWeights(), weights.place(0));
        Place recurrent = weights.place(inputWeightsBackward.bytes());
        recurrentWeightsBackward.take(parameters.recurrentWeights(), recurrent);
        // oneDNN adds to the gradients of parameters.
        INDArray inputWeightGradient = cleared(inputGradientNumbers, memory);
        INDArray recurrentWeightGradient = cleared(recurrentGradientNumbers, memory);
        INDArray biasGradient = cleared(shape.gates() * shape.units(), memory);
        INDArray noError = cleared(shape.block(), memory);
        INDArray unread = memory.create(DataType.FLOAT, 2, shape.block());
        bind(backward, pass.x(), trace, recurrent)
                .bind(dnnl.DNNL_ARG_DIFF_DST_LAYER, pass.error())
                .bind(dnnl.DNNL_ARG_DIFF_DST_ITER, noError)
                .bind(dnnl.DNNL_ARG_DIFF_DST_ITER_C, noError)
                .bind(dnnl.DNNL_ARG_DIFF_SRC_LAYER, inputGradient)
                .bind(dnnl.DNNL_ARG_DIFF_SRC_ITER, unread)
                .bind(dnnl.DNNL_ARG_DIFF_SRC_ITER_C, Slab.of(unread).plus(shape.block()))
                .bind(dnnl.DNNL_ARG_DIFF_WEIGHTS_LAYER, inputWeightGradient)
                .bind(dnnl.DNNL_ARG_DIFF_WEIGHTS_ITER, recurrentWeightGradient)
                .bind(dnnl.DNNL_ARG_DIFF_BIAS, biasGradient)
                .run();
        inputWeights.give(Place.of(inputWeightGradient), gradients.inputWeights());
        recurrentWeights.give(Place.of(recurrentWeightGradient), gradients.recurrentWeights());
        bias.give(Place.of(biasGradient), gradients.bias());
    }

    private static INDArray cleared(long numbers, SequenceMemory memory) {
        INDArray array = memory.create(DataType.FLOAT, numbers);
        Workspaces.clear(array);
        return array;
    }

    @Override
    public void close() {
        forward.close();
        backward.close();
        inputWeights.close();
        recurrentWeights.close();
        inputWeightsBackward.close();
        recurrentWeightsBackward.close();
        bias.close();
    }
}
