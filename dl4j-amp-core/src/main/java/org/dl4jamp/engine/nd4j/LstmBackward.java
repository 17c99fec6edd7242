package org.dl4jamp.engine.nd4j;

import static org.dl4jamp.engine.nd4j.LstmCell.row;
import static org.dl4jamp.engine.nd4j.LstmCell.rows;
import static org.dl4jamp.engine.nd4j.LstmCell.step;
import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.interval;

import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Runs an LSTM backward through time. What goes from step to step is FP32, but for the factors of products, which are
 * rounded once. Gradients of weights and input are one product each over all time steps.
 */
final class LstmBackward {
    private final LstmForward forward;
    private final LstmCell cell;
    private final INDArray epsilon;
    private final long firstStep;
    private final WorkingMemory memory;
    private final INDArray deltas;
    private final INDArray carried;

    /**
     * @param forward a pass that has kept what this one needs; afterwards it's used up
     * @param epsilon HALF {@code [minibatch, n, time]}
     * @param firstStep the earliest time step that gradients flow back to
     */
    LstmBackward(LstmForward forward, INDArray epsilon, long firstStep, WorkingMemory memory) {
        this.forward = forward;
        this.cell = forward.cell();
        this.epsilon = epsilon;
        this.firstStep = firstStep;
        this.memory = memory;
        this.deltas = memory.zeros(DataType.HALF, 'f', forward.minibatch(), forward.steps(), 4 * cell.units());
        this.carried = memory.create(DataType.FLOAT, 'f', forward.minibatch(), cell.units());
        run();
    }

    private void run() {
        WorkingMemory ofStep = memory.ofPart();
        for (long time = forward.steps() - 1; time >= firstStep; time--) {
            try (MemoryWorkspace scope = ofStep.open()) {
                back(time, ofStep);
            }
        }
    }

    /** Replaces the columns of a time step by their gradient. */
    private void back(long time, WorkingMemory ofStep) {
        boolean last = time == forward.steps() - 1;
        INDArray error = ofStep.create(DataType.FLOAT, 'f', forward.minibatch(), cell.units())
                .assign(step(epsilon, time));
        if (!last) {
            cell.products()
                    .multiply(row(deltas, time + 1), cell.recurrentWeights().transpose(), error, 1, ofStep);
        }
        INDArray columns = step(forward.columns(), time);
        INDArray activated = forward.activatedColumns(time);
        back(cell.gate(), columns, LstmCell.OUTPUT, error.mul(forward.activatedMemory(time)));

        error.muli(cell.block(activated, LstmCell.OUTPUT));
        INDArray memoryError =
                cell.activation().backprop(forward.memory(time), error).getFirst();
        if (!last) {
            memoryError.addi(carried);
        }
        INDArray memoryBefore = forward.memoryBefore(time);
        if (memoryBefore == null) {
            cell.block(columns, LstmCell.FORGET).assign(0);
        } else {
            back(cell.gate(), columns, LstmCell.FORGET, memoryError.mul(memoryBefore));
        }
        back(cell.gate(), columns, LstmCell.INPUT_GATE, memoryError.mul(cell.block(activated, LstmCell.INPUT)));
        back(cell.activation(), columns, LstmCell.INPUT, memoryError.mul(cell.block(activated, LstmCell.INPUT_GATE)));
        memoryError.muli(cell.block(activated, LstmCell.FORGET), carried);
        row(deltas, time).assign(columns);
    }

    private void back(IActivation function, INDArray columns, int which, INDArray error) {
        INDArray block = cell.block(columns, which);
        INDArray gradient = function.backprop(block, error).getFirst();
        if (gradient != block) {
            block.assign(gradient);
        }
    }

    /** Returns FLOAT, of the bias's length. */
    INDArray biasGradient() {
        return forward.columns()
                .get(all(), all(), interval(firstStep, forward.steps()))
                .sum(0, 2);
    }

    /**
     * Writes the gradient of the input weights.
     *
     * @param gradient FLOAT {@code [nIn, 4 * n]}
     */
    void inputWeightGradient(INDArray gradient) {
        cell.products().multiply(forward.inputRows().transpose(), rows(deltas), gradient, 0, memory);
    }

    /**
     * Writes the gradient of the recurrent weights.
     *
     * @param gradient FLOAT {@code [n, 4 * n]}
     */
    void recurrentWeightGradient(INDArray gradient) {
        cell.products().multiply(forward.previousActivationRows().transpose(), rows(deltas), gradient, 0, memory);
    }

    /** Returns the gradient of the input: FLOAT {@code [minibatch, nIn, time]}. */
    INDArray inputGradient() {
        long size = cell.inputWeights().size(0);
        INDArray product = memory.create(DataType.FLOAT, 'f', forward.minibatch() * forward.steps(), size);
        cell.products().multiply(rows(deltas), cell.inputWeights().transpose(), product, 0, memory);
        return product.reshape('f', forward.minibatch(), forward.steps(), size).permute(0, 2, 1);
    }
}
