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
 * An LSTM, with or without peepholes. Of the gates it keeps the derivatives: derivatives from rounded values would be
 * wrong where a function is flat. With a function that has no such factors it keeps all in FP32.
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
    private final boolean fuses;
    private final Optional<Peepholes> peepholes;
    private final Optional<LstmFactors> factors;

    public LstmCell(Setup setup, AbstractLSTM conf) {
        super(setup, conf);
        this.gate = CellFunction.ofGates(conf.getGateActivationFn(), setup.context(), setup.layer(), shape);
        boolean hasPeepholes = hasPeepholes(conf);
        boolean isWhole = type == DataType.FLOAT && isUsual(conf) && !hasPeepholes;
        this.whole = isWhole ? WholeLstm.make(setup) : null;
        this.fuses = hasPeepholes && !needsSums();
        this.peepholes = hasPeepholes
                ? Optional.of(Peepholes.make(setup, steps, fuses ? gate.eltwise() : Optional.empty()))
                : Optional.empty();
        this.factors = activation.isStepwise() || gate.isStepwise()
                ? Optional.empty()
                : Optional.of(LstmFactors.make(setup, activation, gate, peepholes));
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
    StepTrace begin(Forward pass, INDArray sums, INDArray outputs, SequenceMemory memory) {
        INDArray values = pass.keeps() && needsSums() ? memory.create(DataType.FLOAT, GATES, shape.gate()) : sums;
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
        Slab before = trace.memory(time);
        Slab memory = trace.memory(time + 1);
        activation.forward(trace.sum(INPUT, time), trace.value(INPUT, time), training);
        openGate(FORGET, before, trace, time, pass);
        openGate(INPUT_GATE, before, trace, time, pass);
        steps.multiply(trace.value(INPUT_GATE, time), trace.value(INPUT, time), memory);
        steps.multiplyAdd(trace.value(FORGET, time), before, memory);
        openGate(OUTPUT, memory, trace, time, pass);
        Slab activated = trace.activatedMemory(time);
        activation.forwardOfMemory(memory, activated, training);
        Slab output = Slab.of(trace.output());
        steps.multiply(trace.value(OUTPUT, time), activated, output);
        return output;
    }

    private void openGate(int which, Slab memory, StepTrace trace, long time, Forward pass) {
        Slab sums = trace.sum(which, time);
        peepholes.ifPresent(
                weights -> weights.add(which, memory, pass.parameters().recurrentWeights(), sums));
        if (!fuses) {
            gate.forward(sums, trace.value(which, time), pass.training());
        }
    }

    @Override
    boolean condenses(Forward pass) {
        return pass.keeps() && factors.isPresent();
    }

    @Override
    Trace condensed(StepTrace trace, Forward pass) {
        return factors.orElseThrow().of(trace, pass);
    }

    @Override
    public void backward(Trace kept, Backward pass) {
        if (kept instanceof WholeLstm.Trace ours) {
            whole.backward(ours, pass);
        } else {
            super.backward(kept, pass);
        }
    }

    @Override
    Deltas deltas(Trace kept, Backward pass) {
        return kept instanceof LstmTrace trace
                ? new LstmDeltas(context, type, steps, peepholes, trace, pass)
                : new LstmStepDeltas(this, peepholes, (StepTrace) kept, pass);
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

    @Override
    public void close() {
        super.close();
        gate.close();
        if (whole != null) {
            whole.close();
        }
        peepholes.ifPresent(Peepholes::close);
        factors.ifPresent(LstmFactors::close);
    }
}
