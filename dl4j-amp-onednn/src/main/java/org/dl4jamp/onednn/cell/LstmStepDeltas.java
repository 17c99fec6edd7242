package org.dl4jamp.onednn.cell;

import java.util.Optional;
import org.dl4jamp.onednn.activation.CellFunction;
import org.dl4jamp.onednn.activation.StepDerivative;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.twin.TimeStepKernels;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * The backward pass of an LSTM with a function whose values depend on several sums: the gradient of one sum isn't a
 * multiple of that of its value. Derivatives are computed time step by time step, in DL4J's order.
 */
final class LstmStepDeltas implements RecurrentCell.Deltas {
    private final LstmCell cell;
    private final SequenceShape shape;
    private final TimeStepKernels steps;
    private final Optional<Peepholes> peepholes;
    private final StepTrace trace;
    private final RecurrentCell.Backward pass;
    private final StepDerivative[] derivatives = new StepDerivative[LstmCell.GATES];
    private final StepDerivative ofMemory;
    private final Slab memoryError;
    private final Slab ofActivated;
    private final Slab delta;
    private final Slab rounded;
    private final Slab products;

    /** @param trace with values; it stays as it is */
    LstmStepDeltas(LstmCell cell, Optional<Peepholes> peepholes, StepTrace trace, RecurrentCell.Backward pass) {
        this.cell = cell;
        this.shape = cell.shape;
        this.steps = cell.steps;
        this.peepholes = peepholes;
        this.trace = trace;
        this.pass = pass;
        SequenceMemory memory = pass.memory();
        for (int gate = 0; gate < LstmCell.GATES; gate++) {
            derivatives[gate] = derivative(cell.function(gate), trace.sum(gate, 0), trace.value(gate, 0));
        }
        this.ofMemory = derivative(cell.activation, trace.memory(1), trace.activatedMemory(0));
        this.memoryError = Slab.of(memory.create(DataType.FLOAT, 1, shape.block()));
        this.ofActivated = Slab.of(memory.create(DataType.FLOAT, 1, shape.block()));
        this.delta = Slab.of(memory.create(DataType.FLOAT, LstmCell.GATES, shape.block()));
        this.rounded = Slab.of(memory.create(cell.type, LstmCell.GATES, shape.block()));
        this.products = peepholes.map(weights -> weights.noProducts(memory)).orElse(null);
    }

    private StepDerivative derivative(CellFunction function, Slab arguments, Slab values) {
        return function.derivative(arguments, values).orElseGet(() -> {
            Slab slopes = Slab.of(
                    pass.memory().create(DataType.FLOAT, 1, shape.gate()).assign(1));
            function.backwardFromArguments(arguments, slopes, slopes);
            return (time, gradient) -> steps.multiply(gradient, slopes.plus(time * shape.block()), gradient);
        });
    }

    private Slab delta(int gate) {
        return delta.plus(gate * shape.block());
    }

    private Slab roundedDelta(int gate) {
        return rounded.plus(gate * shape.block());
    }

    /** Computes a gate's gradient from the gradient of the product that the gate's value is a factor of. */
    private void delta(int gate, long time, Slab error, Slab otherFactor) {
        steps.multiply(error, otherFactor, delta(gate));
        derivatives[gate].multiply(time, delta(gate));
    }

    private void addPeephole(int gate) {
        peepholes.ifPresent(
                weights -> weights.add(gate, delta(gate), pass.parameters().recurrentWeights(), memoryError));
    }

    private void addProducts(Peepholes weights, int gate, long time) {
        weights.addProducts(gate, trace.memory(time), roundedDelta(gate), products);
    }

    @Override
    public Slab of(long time, Slab error) {
        delta(LstmCell.OUTPUT, time, error, trace.activatedMemory(time));
        steps.multiply(error, trace.value(LstmCell.OUTPUT, time), ofActivated);
        ofMemory.multiply(time, ofActivated);
        if (time == shape.steps() - 1) {
            memoryError.vector(shape.block()).assign(0);
        }
        memoryError.vector(shape.block()).addi(ofActivated.vector(shape.block()));
        addPeephole(LstmCell.OUTPUT);
        delta(LstmCell.FORGET, time, memoryError, trace.memory(time));
        delta(LstmCell.INPUT_GATE, time, memoryError, trace.value(LstmCell.INPUT, time));
        delta(LstmCell.INPUT, time, memoryError, trace.value(LstmCell.INPUT_GATE, time));
        steps.multiply(memoryError, trace.value(LstmCell.FORGET, time), memoryError);
        if (peepholes.isPresent()) {
            cell.mask(delta, time, pass.mask());
        }
        for (int gate = 0; gate < LstmCell.GATES; gate++) {
            steps.round(delta(gate), roundedDelta(gate));
        }
        peepholes.ifPresent(weights -> {
            addProducts(weights, LstmCell.FORGET, time);
            addProducts(weights, LstmCell.INPUT_GATE, time);
            addProducts(weights, LstmCell.OUTPUT, time + 1);
        });
        addPeephole(LstmCell.FORGET);
        addPeephole(LstmCell.INPUT_GATE);
        return rounded;
    }

    @Override
    public void finish() {
        peepholes.ifPresent(
                weights -> weights.gradients(products, pass.gradients().recurrentWeights()));
    }
}
