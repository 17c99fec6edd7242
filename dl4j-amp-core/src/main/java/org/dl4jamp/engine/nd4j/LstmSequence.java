package org.dl4jamp.engine.nd4j;

import static org.dl4jamp.engine.nd4j.LstmCell.row;
import static org.dl4jamp.engine.nd4j.LstmCell.rows;
import static org.dl4jamp.engine.nd4j.LstmCell.step;
import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.interval;

import java.util.Map;
import org.deeplearning4j.nn.layers.recurrent.LSTM;
import org.deeplearning4j.nn.params.LSTMParamInitializer;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * An LSTM's pass over one minibatch: forward, and backward through time if it keeps what that needs. What goes from
 * step to step is FP32, but for the factors of products, which are rounded once. Time steps of what is kept are
 * contiguous in memory.
 */
final class LstmSequence {
    private final LstmCell cell;
    /** h and c before the first time step, FLOAT {@code [minibatch, n]}; null for zeros. */
    private final INDArray initialActivation;

    private final INDArray initialMemory;
    private final INDArray mask;
    private final INDArray output;
    private final boolean keeps;
    private final long minibatch;
    private final long steps;
    private final WorkingMemory memory;

    /** HALF, all time steps of the input below each other: {@code [time * minibatch, nIn]}. */
    private final INDArray inputRows;
    /** HALF {@code [minibatch, time, n]}, the activations of the time step before each; null if nothing is kept. */
    private final INDArray previousActivations;
    /** FLOAT {@code [minibatch, 4 * n, time]}, before the activation functions; in the end, its gradient. */
    private final INDArray columns;

    private final INDArray activatedColumns;
    /** c, FLOAT {@code [minibatch, n, time]}, or only of the time step in progress. */
    private final INDArray memories;

    private final INDArray activatedMemories;
    private final INDArray lastActivation;

    /**
     * @param begin DL4J's state to begin with; empty for zeros
     * @param input HALF {@code [minibatch, nIn, time]}
     * @param mask {@code [minibatch, time]}, what activations and memory cells are multiplied by; may be null
     * @param output receives the activations: HALF {@code [minibatch, n, time]}; null for a pass that is kept for the
     *     backward pass
     */
    LstmSequence(
            LstmCell cell,
            Map<String, INDArray> begin,
            INDArray input,
            INDArray mask,
            INDArray output,
            WorkingMemory memory) {
        this.cell = cell;
        this.initialActivation = begin.get(LSTM.STATE_KEY_PREV_ACTIVATION);
        this.initialMemory = begin.get(LSTM.STATE_KEY_PREV_MEMCELL);
        this.output = output;
        this.keeps = output == null;
        this.memory = memory;
        this.mask = memory.cast(mask, DataType.FLOAT);
        this.minibatch = input.size(0);
        this.steps = input.size(2);
        long units = cell.units();
        this.inputRows = rows(memory.create(DataType.HALF, 'f', minibatch, steps, input.size(1))
                .assign(input.permute(0, 2, 1)));
        this.previousActivations = keeps ? memory.zeros(DataType.HALF, 'f', minibatch, steps, units) : null;
        this.columns = inputColumns();
        this.activatedColumns = keeps ? memory.create(DataType.FLOAT, 'f', columns.shape()) : columns;
        this.memories = memory.create(DataType.FLOAT, 'f', minibatch, units, keeps ? steps : 1);
        this.activatedMemories = memory.create(DataType.FLOAT, 'f', memories.shape());
        this.lastActivation = memory.create(DataType.FLOAT, 'f', minibatch, units);
    }

    /** Returns input times weights plus bias for all time steps: FLOAT {@code [minibatch, 4 * n, time]}. */
    private INDArray inputColumns() {
        long width = cell.inputWeights().size(1);
        INDArray product = memory.create(DataType.FLOAT, 'f', inputRows.size(0), width);
        cell.products().multiply(inputRows, cell.inputWeights(), product, 0, memory);
        product.addiRowVector(memory.cast(cell.bias(), DataType.FLOAT));
        return memory.create(DataType.FLOAT, 'f', minibatch, width, steps)
                .assign(product.reshape('f', minibatch, steps, width).permute(0, 2, 1));
    }

    long steps() {
        return steps;
    }

    void forward(boolean training) {
        INDArray first = memory.cast(initialActivation, DataType.HALF);
        if (keeps && first != null) {
            row(previousActivations, 0).assign(first);
        }
        WorkingMemory ofStep = memory.ofPart();
        for (long time = 0; time < steps; time++) {
            try (MemoryWorkspace scope = ofStep.open()) {
                INDArray activation = activation(time, time == 0 ? first : half(time - 1), training, ofStep);
                if (!keeps || time + 1 < steps) {
                    half(time).assign(activation);
                }
                if (time == steps - 1) {
                    lastActivation.assign(activation);
                }
            }
        }
    }

    /** Returns the place of a time step's activations in HALF. */
    private INDArray half(long time) {
        return keeps ? row(previousActivations, time + 1) : step(output, time);
    }

    /** Returns FLOAT {@code [minibatch, n]}. */
    private INDArray activation(long time, INDArray previous, boolean training, WorkingMemory ofStep) {
        INDArray activated = step(columns, time);
        if (previous != null) {
            cell.products().multiply(previous, cell.recurrentWeights(), activated, 1, ofStep);
        }
        if (keeps) {
            activated = step(activatedColumns, time).assign(activated);
        }
        activate(cell.activation(), cell.block(activated, LstmCell.INPUT), training);
        activate(cell.gate(), cell.gates(activated), training);

        INDArray written = cell.block(activated, LstmCell.INPUT).mul(cell.block(activated, LstmCell.INPUT_GATE));
        INDArray memoryBefore = memoryBefore(time);
        INDArray memoryNow = memory(time);
        if (memoryBefore == null) {
            memoryNow.assign(written);
        } else {
            cell.block(activated, LstmCell.FORGET).muli(memoryBefore, memoryNow);
            memoryNow.addi(written);
        }
        INDArray activatedMemory = activatedMemory(time).assign(memoryNow);
        activate(cell.activation(), activatedMemory, training);
        INDArray activation = activatedMemory.mul(cell.block(activated, LstmCell.OUTPUT));
        if (mask != null) {
            INDArray maskNow = mask.getColumn(time, true);
            activation.muliColumnVector(maskNow);
            memoryNow.muliColumnVector(maskNow);
        }
        return activation;
    }

    private static void activate(IActivation function, INDArray array, boolean training) {
        INDArray activated = function.getActivation(array, training);
        if (activated != array) {
            array.assign(activated);
        }
    }

    private INDArray memory(long time) {
        return step(memories, keeps ? time : 0);
    }

    /** Returns c of the time step before; null for zeros. */
    private INDArray memoryBefore(long time) {
        return time == 0 ? initialMemory : memory(time - 1);
    }

    private INDArray activatedMemory(long time) {
        return step(activatedMemories, keeps ? time : 0);
    }

    /** Stores what the next input is to begin with, outside workspaces. */
    void storeLast(Map<String, INDArray> state) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            state.put(LSTM.STATE_KEY_PREV_ACTIVATION, lastActivation.dup('f'));
            state.put(LSTM.STATE_KEY_PREV_MEMCELL, memory(steps - 1).dup('f'));
        }
    }

    /**
     * Runs a kept pass backward, which uses it up, and writes the gradients of the parameters. Those of weights and
     * input are one product each over all time steps.
     *
     * @param epsilon HALF {@code [minibatch, n, time]}
     * @param firstStep the earliest time step that gradients flow back to
     * @param gradients of the parameters, by DL4J's names: FLOAT, in the shapes of {@link LstmCell}
     * @return the gradient of the input: FLOAT {@code [minibatch, nIn, time]}
     */
    INDArray backward(INDArray epsilon, long firstStep, Map<String, INDArray> gradients) {
        INDArray deltas = memory.zeros(DataType.HALF, 'f', minibatch, steps, 4 * cell.units());
        INDArray carried = memory.create(DataType.FLOAT, 'f', minibatch, cell.units());
        WorkingMemory ofStep = memory.ofPart();
        for (long time = steps - 1; time >= firstStep; time--) {
            try (MemoryWorkspace scope = ofStep.open()) {
                back(time, step(epsilon, time), deltas, carried, ofStep);
            }
        }
        Products products = cell.products();
        INDArray inputWeights = gradients.get(LSTMParamInitializer.INPUT_WEIGHT_KEY);
        products.multiply(inputRows.transpose(), rows(deltas), inputWeights, 0, memory);
        INDArray recurrentWeights = gradients.get(LSTMParamInitializer.RECURRENT_WEIGHT_KEY);
        products.multiply(rows(previousActivations).transpose(), rows(deltas), recurrentWeights, 0, memory);
        INDArray bias = gradients.get(LSTMParamInitializer.BIAS_KEY);
        INDArray sums = columns.get(all(), all(), interval(firstStep, steps)).sum(0, 2);
        bias.assign(sums.reshape(bias.shape()));
        long size = cell.inputWeights().size(0);
        INDArray next = memory.create(DataType.FLOAT, 'f', minibatch * steps, size);
        products.multiply(rows(deltas), cell.inputWeights().transpose(), next, 0, memory);
        return next.reshape('f', minibatch, steps, size).permute(0, 2, 1);
    }

    /**
     * Replaces the columns of a time step by their gradient.
     *
     * @param deltas takes that gradient in HALF: {@code [minibatch, time, 4 * n]}
     * @param carried the gradient of c from the time step behind; takes that for the one before
     */
    private void back(long time, INDArray epsilon, INDArray deltas, INDArray carried, WorkingMemory ofStep) {
        boolean last = time == steps - 1;
        INDArray error =
                ofStep.create(DataType.FLOAT, 'f', minibatch, cell.units()).assign(epsilon);
        if (!last) {
            cell.products()
                    .multiply(row(deltas, time + 1), cell.recurrentWeights().transpose(), error, 1, ofStep);
        }
        INDArray gradients = step(columns, time);
        INDArray activated = step(activatedColumns, time);
        back(cell.gate(), gradients, LstmCell.OUTPUT, error.mul(activatedMemory(time)));

        error.muli(cell.block(activated, LstmCell.OUTPUT));
        INDArray memoryError = cell.activation().backprop(memory(time), error).getFirst();
        if (!last) {
            memoryError.addi(carried);
        }
        INDArray memoryBefore = memoryBefore(time);
        if (memoryBefore == null) {
            cell.block(gradients, LstmCell.FORGET).assign(0);
        } else {
            back(cell.gate(), gradients, LstmCell.FORGET, memoryError.mul(memoryBefore));
        }
        back(cell.gate(), gradients, LstmCell.INPUT_GATE, memoryError.mul(cell.block(activated, LstmCell.INPUT)));
        back(cell.activation(), gradients, LstmCell.INPUT, memoryError.mul(cell.block(activated, LstmCell.INPUT_GATE)));
        memoryError.muli(cell.block(activated, LstmCell.FORGET), carried);
        row(deltas, time).assign(gradients);
    }

    private void back(IActivation function, INDArray columnsOfStep, int which, INDArray error) {
        INDArray block = cell.block(columnsOfStep, which);
        INDArray gradient = function.backprop(block, error).getFirst();
        if (gradient != block) {
            block.assign(gradient);
        }
    }
}
