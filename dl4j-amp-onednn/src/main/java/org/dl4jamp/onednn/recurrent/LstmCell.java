package org.dl4jamp.onednn.recurrent;

import org.deeplearning4j.nn.conf.layers.LSTM;
import org.dl4jamp.onednn.activation.CellFunction;
import org.dl4jamp.onednn.memory.Slab;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.activations.impl.ActivationTanH;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An LSTM without peepholes. Of the gates it keeps the sums: derivatives from rounded values would be wrong where a
 * function is flat.
 *
 * <pre>
 * a = activation(x W_a + h[t-1] R_a + b_a)        likewise f, o and g, with the gates' function
 * c[t] = f * c[t-1] + g * a
 * h[t] = o * activation(c[t])
 * </pre>
 *
 * <p>The gates' order is DL4J's.
 */
final class LstmCell extends RecurrentCell {
    static final int GATES = 4;
    private static final int INPUT = 0;
    private static final int FORGET = 1;
    private static final int OUTPUT = 2;
    private static final int INPUT_GATE = 3;

    private final CellFunction gate;
    private final WholeLstm whole;

    LstmCell(Setup setup, LSTM conf) {
        super(setup, conf);
        this.gate = CellFunction.of(conf.getGateActivationFn(), setup.context(), setup.layer(), shape);
        this.whole = type == DataType.FLOAT && isUsual(conf) ? WholeLstm.make(setup) : null;
    }

    /** Returns whether the functions are oneDNN's, tanh and sigmoid. Subclasses of these may compute anything. */
    static boolean isUsual(LSTM conf) {
        return conf.getActivationFn().getClass() == ActivationTanH.class
                && conf.getGateActivationFn().getClass() == ActivationSigmoid.class;
    }

    @Override
    Trace forward(Forward pass) {
        if (whole == null || !pass.keeps() || pass.truncates() || pass.mask() != null) {
            return super.forward(pass);
        }
        INDArray outputs = pass.lasting().create(type, shape.steps() + 1, shape.minibatch(), shape.units());
        INDArray memories = pass.lasting().create(type, 2, shape.block());
        begin(outputs, pass.initial().output());
        begin(memories, pass.initial().memory());
        return whole.forward(pass.x(), pass.parameters(), outputs, memories, pass.lasting());
    }

    @Override
    StepTrace begin(Forward pass, INDArray sums, INDArray outputs, boolean rounds, SequenceMemory memory) {
        INDArray values = sums;
        if (rounds) {
            values = memory.create(DataType.FLOAT, GATES, shape.block());
        } else if (pass.keeps() && needsSums()) {
            values = memory.create(DataType.FLOAT, GATES, shape.gate());
        }
        long places = pass.keeps() ? shape.steps() + 1 : 2;
        INDArray memories = memory.create(DataType.FLOAT, places, shape.block());
        begin(memories, pass.initial().memory());
        INDArray activatedMemories = memory.create(DataType.FLOAT, places - 1, shape.block());
        INDArray output = pass.lasting().create(DataType.FLOAT, 1, shape.block());
        return new StepTrace(shape, sums, values, memories, activatedMemories, outputs, output, null);
    }

    private boolean needsSums() {
        return activation.needsArguments() || gate.needsArguments();
    }

    @Override
    Slab step(StepTrace trace, long time, boolean training) {
        activation.forward(trace.sum(INPUT, time), trace.value(INPUT, time), training);
        for (int which = FORGET; which <= INPUT_GATE; which++) {
            gate.forward(trace.sum(which, time), trace.value(which, time), training);
        }
        Slab memory = trace.memory(time + 1);
        steps.multiply(trace.value(INPUT_GATE, time), trace.value(INPUT, time), memory);
        steps.multiplyAdd(trace.value(FORGET, time), trace.memory(time), memory);
        Slab activated = trace.activatedMemory(time);
        activation.forward(memory, activated, training);
        Slab output = Slab.of(trace.output());
        steps.multiply(trace.value(OUTPUT, time), activated, output);
        return output;
    }

    @Override
    void backward(Trace kept, Backward pass) {
        if (kept instanceof WholeLstm.Trace ours) {
            whole.backward(ours, pass);
        } else {
            super.backward(kept, pass);
        }
    }

    /** Computes the values of a trace that was kept without. */
    private StepTrace withValues(StepTrace trace, SequenceMemory memory) {
        StepTrace all = trace.with(needsSums() ? memory.create(DataType.FLOAT, GATES, shape.gate()) : trace.sums());
        activation.forwardAll(all.sum(INPUT, 0), all.value(INPUT, 0), true);
        for (int which = FORGET; which <= INPUT_GATE; which++) {
            gate.forwardAll(all.sum(which, 0), all.value(which, 0), true);
        }
        return all;
    }

    @Override
    Deltas deltas(StepTrace kept, Backward pass) {
        // DL4J's LSTM doesn't mask gradients.
        SequenceMemory memory = pass.memory();
        StepTrace trace = kept.values() == null ? withValues(kept, memory) : kept;
        Factors factors = factors(trace, memory);
        long block = shape.block();
        Slab memoryError = Slab.of(memory.create(DataType.FLOAT, 1, block));
        Slab delta = Slab.of(memory.create(DataType.FLOAT, GATES, block));
        return (time, error) -> {
            if (time == shape.steps() - 1) {
                steps.multiply(error, factors.memory().plus(time * block), memoryError);
            } else {
                steps.multiplyAdd(error, factors.memory().plus(time * block), memoryError);
            }
            steps.multiply(memoryError, factors.input().plus(time * block), delta.plus(INPUT * block));
            steps.multiply(memoryError, factors.forget().plus(time * block), delta.plus(FORGET * block));
            steps.multiply(error, factors.output().plus(time * block), delta.plus(OUTPUT * block));
            steps.multiply(memoryError, factors.inputGate().plus(time * block), delta.plus(INPUT_GATE * block));
            steps.multiply(memoryError, trace.value(FORGET, time), memoryError);
            return delta;
        };
    }

    /**
     * Factors for all time steps: of the output's gradient for memory and output gate, of the memory's gradient for the
     * rest.
     */
    private record Factors(Slab memory, Slab output, Slab forget, Slab input, Slab inputGate) {}

    /** Computes the factors in place, in the trace. */
    private Factors factors(StepTrace trace, SequenceMemory memory) {
        Slab memories = trace.memory(0);
        Slab output = trace.activatedMemory(0);
        Slab outputGate = trace.value(OUTPUT, 0);
        Slab input = trace.value(INPUT, 0);
        Slab inputGate = trace.value(INPUT_GATE, 0);
        Slab ofInputGate = Slab.of(memory.create(DataType.FLOAT, 1, shape.gate()));

        gate.backward(kept(gate, trace, OUTPUT), output, output);
        activation.backwardFromArguments(trace.memory(1), outputGate, outputGate);
        gate.backward(kept(gate, trace, FORGET), memories, memories);
        gate.backward(kept(gate, trace, INPUT_GATE), input, ofInputGate);
        activation.backward(kept(activation, trace, INPUT), inputGate, inputGate);
        return new Factors(outputGate, output, memories, inputGate, ofInputGate);
    }

    private static Slab kept(CellFunction function, StepTrace trace, int which) {
        return function.needsArguments() ? trace.sum(which, 0) : trace.value(which, 0);
    }

    @Override
    public void close() {
        super.close();
        gate.close();
        if (whole != null) {
            whole.close();
        }
    }
}
