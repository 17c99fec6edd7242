package org.dl4jamp.onednn.cell;

import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.AbstractLSTM;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.onednn.activation.CellFunction;
import org.dl4jamp.onednn.memory.Slab;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.activations.impl.ActivationTanH;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An LSTM, with or without peepholes. Of the gates it keeps the sums: derivatives from rounded values would be wrong
 * where a function is flat.
 *
 * <pre>
 * a = activation(x W_a + h[t-1] R_a + b_a)        likewise f, o and g, with the gates' function
 * c[t] = f * c[t-1] + g * a
 * h[t] = o * activation(c[t])
 * </pre>
 *
 * <p>Peepholes add {@code c[t-1] * P_f} to the forget gate's sum, {@code c[t-1] * P_g} to the input gate's and
 * {@code c[t] * P_o} to the output gate's (Graves, https://arxiv.org/abs/1308.0850).
 *
 * <p>The gates' order is DL4J's.
 */
public final class LstmCell extends RecurrentCell {
    public static final int GATES = 4;
    static final int INPUT = 0;
    static final int FORGET = 1;
    static final int OUTPUT = 2;
    static final int INPUT_GATE = 3;

    private final CellFunction gate;
    private final WholeLstm whole;
    private final Optional<Peepholes> peepholes;

    public LstmCell(Setup setup, AbstractLSTM conf) {
        super(setup, conf);
        this.gate = CellFunction.ofGates(conf.getGateActivationFn(), setup.context(), setup.layer(), shape);
        boolean hasPeepholes = hasPeepholes(conf);
        boolean isWhole = type == DataType.FLOAT && isUsual(conf) && !hasPeepholes;
        this.whole = isWhole ? WholeLstm.make(setup) : null;
        this.peepholes = hasPeepholes ? Optional.of(Peepholes.make(setup, steps)) : Optional.empty();
    }

    public static boolean hasPeepholes(Layer conf) {
        return conf instanceof GravesLSTM;
    }

    /** Returns whether the functions are oneDNN's, tanh and sigmoid. Subclasses of these may compute anything. */
    static boolean isUsual(AbstractLSTM conf) {
        return conf.getActivationFn().getClass() == ActivationTanH.class
                && conf.getGateActivationFn().getClass() == ActivationSigmoid.class;
    }

    @Override
    public Trace forward(Forward pass) {
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
    Slab step(StepTrace trace, long time, Forward pass) {
        boolean training = pass.training();
        INDArray recurrentWeights = pass.parameters().recurrentWeights();
        Slab memory = trace.memory(time + 1);
        peepholes.ifPresent(weights -> {
            weights.add(Peepholes.Of.FORGET_GATE, trace.memory(time), recurrentWeights, trace.sum(FORGET, time));
            weights.add(Peepholes.Of.INPUT_GATE, trace.memory(time), recurrentWeights, trace.sum(INPUT_GATE, time));
        });
        activation.forward(trace.sum(INPUT, time), trace.value(INPUT, time), training);
        gate.forward(trace.sum(FORGET, time), trace.value(FORGET, time), training);
        gate.forward(trace.sum(INPUT_GATE, time), trace.value(INPUT_GATE, time), training);
        steps.multiply(trace.value(INPUT_GATE, time), trace.value(INPUT, time), memory);
        steps.multiplyAdd(trace.value(FORGET, time), trace.memory(time), memory);
        peepholes.ifPresent(
                weights -> weights.add(Peepholes.Of.OUTPUT_GATE, memory, recurrentWeights, trace.sum(OUTPUT, time)));
        gate.forward(trace.sum(OUTPUT, time), trace.value(OUTPUT, time), training);
        Slab activated = trace.activatedMemory(time);
        activation.forwardOfMemory(memory, activated, training);
        Slab output = Slab.of(trace.output());
        steps.multiply(trace.value(OUTPUT, time), activated, output);
        return output;
    }

    @Override
    public void backward(Trace kept, Backward pass) {
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
        StepTrace trace = kept.values() == null ? withValues(kept, pass.memory()) : kept;
        return hasStepwiseFunction(trace) ? new LstmStepDeltas(this, peepholes, trace, pass) : new Errors(trace, pass);
    }

    private boolean hasStepwiseFunction(StepTrace trace) {
        return activation.derivative(trace.sum(INPUT, 0), trace.value(INPUT, 0)).isPresent()
                || gate.derivative(trace.sum(FORGET, 0), trace.value(FORGET, 0)).isPresent();
    }

    /** Returns the function of a gate's sums. */
    CellFunction function(int number) {
        return number == INPUT ? activation : gate;
    }

    /** Multiplies the gradients of all gates' sums at a time step by its mask; null for none. */
    void mask(Slab delta, long time, INDArray mask) {
        if (mask != null) {
            Slab factors = Slab.of(mask).plus(time * shape.minibatch());
            for (int number = 0; number < GATES; number++) {
                steps.mask(delta.plus(number * shape.block()), factors);
            }
        }
    }

    /** The backward pass. DL4J masks the gradients of an LSTM with peepholes, but not those of one without. */
    private final class Errors implements Deltas {
        private final StepTrace trace;
        private final Backward pass;
        private final Factors factors;
        private final Slab memoryError;
        private final Slab delta;
        private final Slab products;

        Errors(StepTrace trace, Backward pass) {
            this.trace = trace;
            this.pass = pass;
            this.factors = factors(trace, pass.memory());
            this.memoryError = Slab.of(pass.memory().create(DataType.FLOAT, 1, shape.block()));
            this.delta = Slab.of(pass.memory().create(DataType.FLOAT, GATES, shape.block()));
            this.products =
                    peepholes.map(weights -> weights.noProducts(pass.memory())).orElse(null);
        }

        private Slab delta(int gate) {
            return delta.plus(gate * shape.block());
        }

        private void add(Peepholes.Of gate, int number) {
            peepholes.ifPresent(weights ->
                    weights.add(gate, delta(number), pass.parameters().recurrentWeights(), memoryError));
        }

        @Override
        public Slab of(long time, Slab error) {
            long at = time * shape.block();
            steps.multiply(error, factors.output().plus(at), delta(OUTPUT));
            if (time == shape.steps() - 1) {
                steps.multiply(error, factors.memory().plus(at), memoryError);
            } else {
                steps.multiplyAdd(error, factors.memory().plus(at), memoryError);
            }
            add(Peepholes.Of.OUTPUT_GATE, OUTPUT);
            steps.multiply(memoryError, factors.input().plus(at), delta(INPUT));
            steps.multiply(memoryError, factors.forget().plus(at), delta(FORGET));
            steps.multiply(memoryError, factors.inputGate().plus(at), delta(INPUT_GATE));
            steps.multiply(memoryError, trace.value(FORGET, time), memoryError);
            peepholes.ifPresent(weights -> {
                mask(delta, time, pass.mask());
                weights.addProducts(Peepholes.Of.FORGET_GATE, delta(FORGET), trace.memory(time), products);
                weights.addProducts(Peepholes.Of.INPUT_GATE, delta(INPUT_GATE), trace.memory(time), products);
                weights.addProducts(Peepholes.Of.OUTPUT_GATE, delta(OUTPUT), trace.memory(time + 1), products);
            });
            add(Peepholes.Of.FORGET_GATE, FORGET);
            add(Peepholes.Of.INPUT_GATE, INPUT_GATE);
            return delta;
        }

        @Override
        public void finish() {
            peepholes.ifPresent(
                    weights -> weights.gradients(products, pass.gradients().recurrentWeights()));
        }
    }

    /**
     * Factors for all time steps: of the output's gradient for memory and output gate, of the memory's gradient for the
     * rest.
     */
    private record Factors(Slab memory, Slab output, Slab forget, Slab input, Slab inputGate) {}

    /** Computes the factors in place, in the trace. Gradients of peepholes need the memories. */
    private Factors factors(StepTrace trace, SequenceMemory memory) {
        Slab memories = trace.memory(0);
        Slab output = trace.activatedMemory(0);
        Slab outputGate = trace.value(OUTPUT, 0);
        Slab input = trace.value(INPUT, 0);
        Slab inputGate = trace.value(INPUT_GATE, 0);
        Slab forget = peepholes.isPresent() ? Slab.of(memory.create(DataType.FLOAT, 1, shape.gate())) : memories;
        Slab ofInputGate = Slab.of(memory.create(DataType.FLOAT, 1, shape.gate()));

        gate.backward(kept(gate, trace, OUTPUT), output, output);
        activation.backwardFromArguments(trace.memory(1), outputGate, outputGate);
        gate.backward(kept(gate, trace, FORGET), memories, forget);
        gate.backward(kept(gate, trace, INPUT_GATE), input, ofInputGate);
        activation.backward(kept(activation, trace, INPUT), inputGate, inputGate);
        return new Factors(outputGate, output, forget, inputGate, ofInputGate);
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
        peepholes.ifPresent(Peepholes::close);
    }
}
