package org.dl4jamp.onednn.recurrent;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.lstm_backward;
import org.bytedeco.dnnl.lstm_forward;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.dl4jamp.onednn.weights.GateWeights;
import org.dl4jamp.onednn.weights.RecurrentWeights;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * oneDNN's LSTM, which computes all time steps of a layer in one primitive, in FP32. It has hyperbolic tangent and
 * sigmoid as functions, no masks, and gradients that flow back to the first time step.
 */
final class WholeLstm implements AutoCloseable {
    private static final int GATES = LstmCell.GATES;
    private static final int CACHE_LINE = 64;
    private static final dnnl.rnn_direction ONWARD = dnnl.rnn_direction.unidirectional_left2right;

    private final SequenceShape shape;
    private final RecurrentWeights weights;
    private final Kernel forward;
    private final Kernel backward;
    private final GateWeights inputWeights;
    private final GateWeights recurrentWeights;
    private final GateWeights inputWeightsBackward;
    private final GateWeights recurrentWeightsBackward;
    private final GateWeights bias;
    private final long inputWeightBytes;
    private final long inputWeightBytesBackward;
    private final long recurrentWeightBytes;
    private final long recurrentWeightBytesBackward;
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

    static WholeLstm make(OneDnnContext context, String layer, SequenceShape shape, RecurrentWeights weights) {
        String what = layer + ": LSTM for " + shape;
        // Its threads wait for one another after each time step.
        Work step = Work.ofProducts(shape.block() * GATES * (shape.nIn() + shape.units()));
        return OneDnnContext.make(what, step, () -> new WholeLstm(context, what, shape, weights));
    }

    private WholeLstm(OneDnnContext context, String what, SequenceShape shape, RecurrentWeights weights) {
        this.shape = shape;
        this.weights = weights;
        long units = shape.units();
        memory.desc input = dense(shape.steps(), shape.minibatch(), shape.nIn());
        memory.desc output = dense(shape.steps(), shape.minibatch(), units);
        memory.desc state = dense(1, 1, shape.minibatch(), units);
        memory.desc biases = dense(1, 1, GATES, units);
        memory.desc ofInput = Layout.any(DataType.FLOAT, 1, 1, shape.nIn(), GATES, units);
        memory.desc ofOutput = Layout.any(DataType.FLOAT, 1, 1, units, GATES, units);
        lstm_forward.primitive_desc first = new lstm_forward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.prop_kind.forward_training,
                ONWARD,
                input,
                state,
                state,
                ofInput,
                ofOutput,
                biases,
                output,
                state,
                state,
                OneDnnContext.attributes(),
                false);
        lstm_backward.primitive_desc second = new lstm_backward.primitive_desc(
                OneDnnContext.cpu(),
                dnnl.prop_kind.backward,
                ONWARD,
                input,
                state,
                state,
                ofInput,
                ofOutput,
                biases,
                output,
                state,
                state,
                input,
                state,
                state,
                ofInput,
                ofOutput,
                biases,
                output,
                state,
                state,
                first,
                OneDnnContext.attributes(),
                false);
        forward = states(new Kernel(context, what, first, new lstm_forward(first)), input, output, state, biases)
                .argument(dnnl.DNNL_ARG_WEIGHTS_LAYER, first.weights_layer_desc())
                .argument(dnnl.DNNL_ARG_WEIGHTS_ITER, first.weights_iter_desc())
                .argument(dnnl.DNNL_ARG_WORKSPACE, first.workspace_desc());
        backward = states(
                        new Kernel(context, what + ", backward", second, new lstm_backward(second)),
                        input,
                        output,
                        state,
                        biases)
                .argument(dnnl.DNNL_ARG_WEIGHTS_LAYER, second.weights_layer_desc())
                .argument(dnnl.DNNL_ARG_WEIGHTS_ITER, second.weights_iter_desc())
                .argument(dnnl.DNNL_ARG_WORKSPACE, first.workspace_desc())
                .argument(dnnl.DNNL_ARG_DIFF_DST_LAYER, output)
                .argument(dnnl.DNNL_ARG_DIFF_DST_ITER, state)
                .argument(dnnl.DNNL_ARG_DIFF_DST_ITER_C, state)
                .argument(dnnl.DNNL_ARG_DIFF_SRC_LAYER, input)
                .argument(dnnl.DNNL_ARG_DIFF_SRC_ITER, state)
                .argument(dnnl.DNNL_ARG_DIFF_SRC_ITER_C, state)
                .argument(dnnl.DNNL_ARG_DIFF_WEIGHTS_LAYER, second.diff_weights_layer_desc())
                .argument(dnnl.DNNL_ARG_DIFF_WEIGHTS_ITER, second.diff_weights_iter_desc())
                .argument(dnnl.DNNL_ARG_DIFF_BIAS, biases);
        inputWeights = new GateWeights(
                context, what, shape.nIn(), units, first.weights_layer_desc(), second.diff_weights_layer_desc());
        recurrentWeights = new GateWeights(
                context, what, units, units, first.weights_iter_desc(), second.diff_weights_iter_desc());
        inputWeightsBackward = new GateWeights(context, what, shape.nIn(), units, second.weights_layer_desc(), null);
        recurrentWeightsBackward = new GateWeights(context, what, units, units, second.weights_iter_desc(), null);
        memory.desc row = dense(1, 1, 1, GATES, units);
        bias = new GateWeights(context, what, 1, units, row, row);
        inputWeightBytes = aligned(first.weights_layer_desc());
        recurrentWeightBytes = aligned(first.weights_iter_desc());
        inputWeightBytesBackward = aligned(second.weights_layer_desc());
        recurrentWeightBytesBackward = aligned(second.weights_iter_desc());
        inputGradientNumbers = aligned(second.diff_weights_layer_desc()) / Float.BYTES;
        recurrentGradientNumbers = aligned(second.diff_weights_iter_desc()) / Float.BYTES;
        keptNumbers = aligned(first.workspace_desc()) / Float.BYTES;
    }

    private static memory.desc dense(long... shape) {
        return Layout.dense(DataType.FLOAT, shape).descriptor();
    }

    private static long aligned(memory.desc order) {
        return (order.get_size() + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    }

    private static Kernel states(
            Kernel kernel, memory.desc input, memory.desc output, memory.desc state, memory.desc biases) {
        return kernel.argument(dnnl.DNNL_ARG_SRC_LAYER, input)
                .argument(dnnl.DNNL_ARG_SRC_ITER, state)
                .argument(dnnl.DNNL_ARG_SRC_ITER_C, state)
                .argument(dnnl.DNNL_ARG_BIAS, biases)
                .argument(dnnl.DNNL_ARG_DST_LAYER, output)
                .argument(dnnl.DNNL_ARG_DST_ITER, state)
                .argument(dnnl.DNNL_ARG_DST_ITER_C, state);
    }

    /**
     * Runs a forward pass.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param outputs {@code [steps + 1, minibatch, units]}, with the state before in front
     * @param memories {@code [2, minibatch, units]}, with the state before in front
     * @param memory memory for the trace
     */
    Trace forward(
            INDArray x, RecurrentParameters parameters, INDArray outputs, INDArray memories, SequenceMemory memory) {
        long block = shape.block();
        weights.reserve(inputWeightBytes + recurrentWeightBytes);
        inputWeights.take(Slab.of(parameters.inputWeights()), weights.place(0));
        recurrentWeights.take(Slab.of(parameters.recurrentWeights()), weights.place(inputWeightBytes));
        INDArray biases = memory.create(DataType.FLOAT, GATES * shape.units());
        bias.take(Slab.of(parameters.bias()), Place.of(biases));
        INDArray kept = memory.create(DataType.FLOAT, keptNumbers);
        INDArray last = memory.create(DataType.FLOAT, shape.minibatch(), shape.units());
        Slab memoryAfter = Slab.of(memories).plus(block);
        Trace trace = new Trace(
                outputs,
                memories,
                biases,
                kept,
                new RecurrentState(last, memoryAfter.vector(block).reshape(shape.minibatch(), shape.units())));
        bind(forward, x, trace, weights.place(inputWeightBytes)).run();
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

    /**
     * Runs a backward pass.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param error the gradient of the outputs, {@code [steps, minibatch, units]}
     * @param gradients where those of the parameters go
     * @param inputGradient where that of the input goes, {@code [steps, minibatch, nIn]}
     * @param memory memory for intermediate results
     */
    void backward(
            INDArray x,
            RecurrentParameters parameters,
            Trace trace,
            INDArray error,
            RecurrentParameters gradients,
            INDArray inputGradient,
            SequenceMemory memory) {
        weights.reserve(inputWeightBytesBackward + recurrentWeightBytesBackward);
        inputWeightsBackward.take(Slab.of(parameters.inputWeights()), weights.place(0));
        Place recurrent = weights.place(inputWeightBytesBackward);
        recurrentWeightsBackward.take(Slab.of(parameters.recurrentWeights()), recurrent);
        // oneDNN adds to the gradients of parameters.
        INDArray inputWeightGradient = cleared(inputGradientNumbers, memory);
        INDArray recurrentWeightGradient = cleared(recurrentGradientNumbers, memory);
        INDArray biasGradient = cleared(GATES * shape.units(), memory);
        INDArray noError = cleared(shape.block(), memory);
        INDArray unread = memory.create(DataType.FLOAT, 2, shape.block());
        bind(backward, x, trace, recurrent)
                .bind(dnnl.DNNL_ARG_DIFF_DST_LAYER, error)
                .bind(dnnl.DNNL_ARG_DIFF_DST_ITER, noError)
                .bind(dnnl.DNNL_ARG_DIFF_DST_ITER_C, noError)
                .bind(dnnl.DNNL_ARG_DIFF_SRC_LAYER, inputGradient)
                .bind(dnnl.DNNL_ARG_DIFF_SRC_ITER, unread)
                .bind(dnnl.DNNL_ARG_DIFF_SRC_ITER_C, Slab.of(unread).plus(shape.block()))
                .bind(dnnl.DNNL_ARG_DIFF_WEIGHTS_LAYER, inputWeightGradient)
                .bind(dnnl.DNNL_ARG_DIFF_WEIGHTS_ITER, recurrentWeightGradient)
                .bind(dnnl.DNNL_ARG_DIFF_BIAS, biasGradient)
                .run();
        inputWeights.give(Place.of(inputWeightGradient), Slab.of(gradients.inputWeights()));
        recurrentWeights.give(Place.of(recurrentWeightGradient), Slab.of(gradients.recurrentWeights()));
        bias.give(Place.of(biasGradient), Slab.of(gradients.bias()));
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
