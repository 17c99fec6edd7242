package org.dl4jamp.engine.nd4j;

import static org.dl4jamp.engine.nd4j.LstmCell.row;
import static org.dl4jamp.engine.nd4j.LstmCell.rows;
import static org.dl4jamp.engine.nd4j.LstmCell.step;

import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Runs an LSTM forward over one minibatch, with all arithmetic but the products' factors in FP32. For a backward pass
 * it keeps what that needs; time steps of what it keeps are contiguous in memory.
 */
final class LstmForward {
    private final LstmCell cell;
    private final LstmCell.State initial;
    private final INDArray mask;
    private final boolean training;
    private final boolean keeps;
    private final long minibatch;
    private final long steps;
    private final WorkingMemory memory;

    private final INDArray inputRows;
    private final INDArray columns;
    private final INDArray activatedColumns;
    private final INDArray memories;
    private final INDArray activatedMemories;
    private final INDArray lastActivation;
    private INDArray previousActivations;

    private LstmForward(
            LstmCell cell,
            LstmCell.State initial,
            INDArray input,
            INDArray mask,
            boolean training,
            boolean keeps,
            WorkingMemory memory) {
        this.cell = cell;
        this.initial = initial;
        this.training = training;
        this.keeps = keeps;
        this.memory = memory;
        this.mask = mask == null ? null : memory.cast(mask, DataType.FLOAT);
        this.minibatch = input.size(0);
        this.steps = input.size(2);
        long units = cell.units();
        this.inputRows = rows(memory.create(DataType.HALF, 'f', minibatch, steps, input.size(1))
                .assign(input.permute(0, 2, 1)));
        this.columns = inputColumns();
        this.lastActivation = memory.create(DataType.FLOAT, 'f', minibatch, units);
        this.activatedColumns = keeps ? memory.create(DataType.FLOAT, 'f', columns.shape()) : columns;
        this.memories = memory.create(DataType.FLOAT, 'f', minibatch, units, keeps ? steps : 1);
        this.activatedMemories = memory.create(DataType.FLOAT, 'f', memories.shape());
    }

    /**
     * Runs forward.
     *
     * @param input HALF {@code [minibatch, nIn, time]}
     * @param mask {@code [minibatch, time]}, what activations and memory cells are multiplied by; may be null
     * @param output receives the activations: HALF {@code [minibatch, n, time]}
     */
    static LstmForward run(
            LstmCell cell,
            LstmCell.State initial,
            INDArray input,
            INDArray mask,
            boolean training,
            INDArray output,
            WorkingMemory memory) {
        LstmForward forward = new LstmForward(cell, initial, input, mask, training, false, memory);
        INDArray first = memory.cast(initial.activation(), DataType.HALF);
        forward.run(time -> time == 0 ? first : step(output, time - 1), time -> step(output, time));
        return forward;
    }

    /** Runs forward in training and keeps what a backward pass needs. Takes what {@link #run} takes. */
    static LstmForward runKeeping(
            LstmCell cell, LstmCell.State initial, INDArray input, INDArray mask, WorkingMemory memory) {
        LstmForward forward = new LstmForward(cell, initial, input, mask, true, true, memory);
        INDArray previous = memory.create(DataType.HALF, 'f', forward.minibatch, forward.steps, cell.units());
        if (initial.activation() == null) {
            row(previous, 0).assign(0);
        } else {
            row(previous, 0).assign(initial.activation());
        }
        forward.previousActivations = previous;
        forward.run(
                time -> time == 0 && initial.activation() == null ? null : row(previous, time),
                time -> time + 1 < forward.steps ? row(previous, time + 1) : null);
        return forward;
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

    /** Access to the HALF activations of a time step. */
    private interface Activations {
        INDArray at(long time);
    }

    private void run(Activations previous, Activations destination) {
        WorkingMemory ofStep = memory.ofPart();
        for (long time = 0; time < steps; time++) {
            try (MemoryWorkspace scope = ofStep.open()) {
                INDArray activation = activation(time, previous.at(time), ofStep);
                INDArray target = destination.at(time);
                if (target != null) {
                    target.assign(activation);
                }
                if (time == steps - 1) {
                    lastActivation.assign(activation);
                }
            }
        }
    }

    /** Returns FLOAT {@code [minibatch, n]}. */
    private INDArray activation(long time, INDArray previous, WorkingMemory ofStep) {
        INDArray before = step(columns, time);
        if (previous != null) {
            cell.products().multiply(previous, cell.recurrentWeights(), before, 1, ofStep);
        }
        INDArray activated = before;
        if (keeps) {
            activated = step(activatedColumns, time).assign(before);
        }
        activate(cell.activation(), cell.block(activated, LstmCell.INPUT));
        activate(cell.gate(), cell.gates(activated));

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
        activate(cell.activation(), activatedMemory);
        INDArray activation = activatedMemory.mul(cell.block(activated, LstmCell.OUTPUT));
        if (mask != null) {
            INDArray maskNow = mask.getColumn(time, true);
            activation.muliColumnVector(maskNow);
            memoryNow.muliColumnVector(maskNow);
        }
        return activation;
    }

    private void activate(IActivation function, INDArray array) {
        INDArray activated = function.getActivation(array, training);
        if (activated != array) {
            array.assign(activated);
        }
    }

    LstmCell cell() {
        return cell;
    }

    long minibatch() {
        return minibatch;
    }

    long steps() {
        return steps;
    }

    /** Returns HALF, all time steps of the input below each other: {@code [time * minibatch, nIn]}. */
    INDArray inputRows() {
        return inputRows;
    }

    /** Returns HALF, the activations of the time step before each, below each other: {@code [time * minibatch, n]}. */
    INDArray previousActivationRows() {
        return rows(previousActivations);
    }

    /** Returns FLOAT {@code [minibatch, 4 * n, time]}, before the activation functions. */
    INDArray columns() {
        return columns;
    }

    /** Returns FLOAT {@code [minibatch, 4 * n]} after the activation functions. */
    INDArray activatedColumns(long time) {
        return step(activatedColumns, time);
    }

    /** Returns c, FLOAT {@code [minibatch, n]}. */
    INDArray memory(long time) {
        return step(memories, keeps ? time : 0);
    }

    /** Returns c of the time step before; null for zeros. */
    INDArray memoryBefore(long time) {
        return time == 0 ? initial.memory() : memory(time - 1);
    }

    /** Returns the activation function of c, FLOAT {@code [minibatch, n]}. */
    INDArray activatedMemory(long time) {
        return step(activatedMemories, keeps ? time : 0);
    }

    /** Returns what the next input is to begin with, outside workspaces. */
    LstmCell.State last() {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return new LstmCell.State(lastActivation.dup('f'), memory(steps - 1).dup('f'));
        }
    }
}
