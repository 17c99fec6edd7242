package org.dl4jamp.onednn.recurrent;

import org.deeplearning4j.nn.conf.layers.LSTM;
import org.dl4jamp.onednn.activation.CellFunction;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.TimeStepKernels;
import org.dl4jamp.onednn.weights.RecurrentWeights;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.activations.impl.ActivationTanH;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An LSTM without peepholes. Sums, functions and memory are FP32. Factors of products are rounded, and what a layer of
 * BFLOAT16 keeps. Of the gates it keeps the sums: derivatives from rounded values would be wrong where a function is
 * flat.
 *
 * <pre>
 * a = activation(x W_a + h[t-1] R_a + b_a)        likewise f, o and g, with the gates' function
 * c[t] = f * c[t-1] + g * a
 * h[t] = o * activation(c[t])
 * </pre>
 *
 * <p>The gates' order is DL4J's. Derivatives don't depend on the error, so they're computed for all time steps at once.
 */
final class LstmCell implements RecurrentCell {
    static final int GATES = 4;
    private static final int INPUT = 0;
    private static final int FORGET = 1;
    private static final int OUTPUT = 2;
    private static final int INPUT_GATE = 3;

    private final OneDnnContext context;
    private final SequenceShape shape;
    private final DataType type;
    private final SequenceProducts products;
    private final TimeStepKernels steps;
    private final CellFunction activation;
    private final CellFunction gate;
    private final WholeLstm whole;

    LstmCell(
            OneDnnContext context,
            String layer,
            DataType type,
            LSTM conf,
            SequenceShape shape,
            RecurrentWeights weights) {
        this.context = context;
        this.shape = shape;
        this.type = type;
        this.products = SequenceProducts.make(context, layer, type, shape, weights);
        this.steps = TimeStepKernels.make(context, layer, type, shape);
        this.activation = CellFunction.of(conf.getActivationFn(), context, layer, shape);
        this.gate = CellFunction.of(conf.getGateActivationFn(), context, layer, shape);
        // Subclasses may compute anything.
        boolean usual = conf.getActivationFn().getClass() == ActivationTanH.class
                && conf.getGateActivationFn().getClass() == ActivationSigmoid.class;
        this.whole = type == DataType.FLOAT && usual ? WholeLstm.make(context, layer, shape, weights) : null;
    }

    /**
     * The trace of a forward pass: FLOAT, or in the layer's type without the values, which can be computed again. If it
     * keeps nothing, memory cells have room for two time steps only.
     *
     * @param sums before the functions, {@code [gates, steps * minibatch * units]}
     * @param values after them; the same array if nothing needs the sums
     * @param memories c, {@code [steps + 1, minibatch * units]}, the initial state in front
     * @param activatedMemories the activation function of c before it was masked, {@code [steps, minibatch * units]}
     * @param outputs {@code [steps + 1, minibatch, units]}
     * @param lastOutput FLOAT {@code [minibatch, units]}
     * @param lastMemory FLOAT {@code [minibatch, units]}
     */
    private record LstmTrace(
            INDArray sums,
            INDArray values,
            INDArray memories,
            INDArray activatedMemories,
            INDArray outputs,
            INDArray lastOutput,
            INDArray lastMemory)
            implements Trace {
        @Override
        public RecurrentState last() {
            return new RecurrentState(lastOutput, lastMemory);
        }
    }

    @Override
    public SequenceProducts products() {
        return products;
    }

    @Override
    public Trace forward(
            INDArray x,
            RecurrentParameters parameters,
            RecurrentState initial,
            INDArray mask,
            boolean training,
            boolean keeps,
            boolean truncates,
            SequenceMemory working,
            SequenceMemory lasting) {
        if (whole != null && keeps && !truncates && mask == null) {
            INDArray outputs = lasting.create(type, shape.steps() + 1, shape.minibatch(), shape.units());
            INDArray memories = lasting.create(type, 2, shape.block());
            begin(initial, outputs, memories);
            return whole.forward(x, parameters, outputs, memories, lasting);
        }
        long block = shape.block();
        long places = keeps ? shape.steps() + 1 : 2;
        boolean rounds = keeps && type != DataType.FLOAT;
        SequenceMemory memory = rounds ? working : lasting;
        INDArray sums = memory.create(DataType.FLOAT, GATES, shape.gate());
        INDArray values = sums;
        if (rounds) {
            values = memory.create(DataType.FLOAT, GATES, block);
        } else if (keeps && needsSums()) {
            values = memory.create(DataType.FLOAT, GATES, shape.gate());
        }
        INDArray memories = memory.create(DataType.FLOAT, places, block);
        INDArray activatedMemories = memory.create(DataType.FLOAT, places - 1, block);
        INDArray outputs = lasting.create(type, shape.steps() + 1, shape.minibatch(), shape.units());
        INDArray output = lasting.create(DataType.FLOAT, shape.minibatch(), shape.units());
        begin(initial, outputs, memories);

        products.takeWeights(parameters.inputWeights(), parameters.recurrentWeights());
        products.input(x, parameters.bias(), Slab.of(sums));
        Slab now = Slab.of(output);
        Slab memoryNow = Slab.of(memories);
        for (long time = 0; time < shape.steps(); time++) {
            if (time > 0 || !initial.isZero()) {
                products.recurrent(
                        Slab.of(outputs).plus(time * block), Slab.of(sums).plus(time * block));
            }
            activation.forward(at(sums, INPUT, time), at(values, INPUT, time), training);
            for (int which = FORGET; which <= INPUT_GATE; which++) {
                gate.forward(at(sums, which, time), at(values, which, time), training);
            }
            Slab memoryBefore = memoryNow;
            memoryNow = Slab.of(memories).plus((time + 1) % places * block);
            steps.multiply(at(values, INPUT_GATE, time), at(values, INPUT, time), memoryNow);
            steps.multiplyAdd(at(values, FORGET, time), memoryBefore, memoryNow);
            Slab activated = Slab.of(activatedMemories).plus(time % (places - 1) * block);
            activation.forward(memoryNow, activated, training);
            steps.multiply(at(values, OUTPUT, time), activated, now);
            if (mask != null) {
                Slab maskNow = Slab.of(mask).plus(time * shape.minibatch());
                steps.mask(now, maskNow);
                steps.mask(memoryNow, maskNow);
            }
            steps.round(now, Slab.of(outputs).plus((time + 1) * block));
        }
        INDArray lastMemory = memoryNow.vector(block).reshape(shape.minibatch(), shape.units());
        return rounds
                ? new LstmTrace(
                        lasting.copy(context, type, sums),
                        null,
                        lasting.copy(context, type, memories),
                        lasting.copy(context, type, activatedMemories),
                        outputs,
                        output,
                        lasting.copy(context, DataType.FLOAT, lastMemory))
                : new LstmTrace(sums, values, memories, activatedMemories, outputs, output, lastMemory);
    }

    private boolean needsSums() {
        return activation.needsArguments() || gate.needsArguments();
    }

    @Override
    public boolean backwardAtOnce(
            Trace trace,
            INDArray x,
            RecurrentParameters parameters,
            INDArray error,
            RecurrentParameters gradients,
            INDArray inputGradient,
            SequenceMemory memory) {
        if (!(trace instanceof WholeLstm.Trace ours)) {
            return false;
        }
        INDArray place = inputGradient == null ? memory.create(type, x.shape()) : inputGradient;
        whole.backward(x, parameters, ours, error, gradients, place, memory);
        return true;
    }

    /** Returns a trace in FP32, with the values computed again if it was kept without. */
    private LstmTrace expanded(LstmTrace trace, SequenceMemory memory) {
        if (trace.values() != null) {
            return trace;
        }
        INDArray sums = memory.copy(context, DataType.FLOAT, trace.sums());
        INDArray values = needsSums() ? memory.create(DataType.FLOAT, GATES, shape.gate()) : sums;
        activation.forwardAll(at(sums, INPUT, 0), at(values, INPUT, 0), true);
        for (int which = FORGET; which <= INPUT_GATE; which++) {
            gate.forwardAll(at(sums, which, 0), at(values, which, 0), true);
        }
        return new LstmTrace(
                sums,
                values,
                memory.copy(context, DataType.FLOAT, trace.memories()),
                memory.copy(context, DataType.FLOAT, trace.activatedMemories()),
                trace.outputs(),
                trace.lastOutput(),
                trace.lastMemory());
    }

    private void begin(RecurrentState initial, INDArray outputs, INDArray memories) {
        INDArray output = Slab.of(outputs).vector(shape.block());
        INDArray memory = Slab.of(memories).vector(shape.block());
        if (initial.isZero()) {
            output.assign(0);
            memory.assign(0);
        } else {
            output.reshape(shape.minibatch(), shape.units()).assign(initial.output());
            memory.reshape(shape.minibatch(), shape.units()).assign(initial.memory());
        }
    }

    /** Returns a gate at a time step, in an array of all time steps or of one only. */
    private Slab at(INDArray array, int which, long time) {
        long length = array.size(1);
        return new Slab(array, which * length + time * shape.block() % length);
    }

    @Override
    public void backward(
            Trace kept, INDArray error, INDArray mask, long firstStep, INDArray deltas, SequenceMemory memory) {
        // DL4J's LSTM doesn't mask gradients.
        LstmTrace trace = expanded((LstmTrace) kept, memory);
        Factors factors = factors(trace, memory);
        INDArray carried = memory.create(DataType.FLOAT, 1, shape.block());
        INDArray delta = memory.create(DataType.FLOAT, GATES, shape.block());
        Slab memoryError = Slab.of(carried);
        long block = shape.block();
        for (long time = shape.steps() - 1; time >= firstStep; time--) {
            boolean last = time == shape.steps() - 1;
            Slab errorNow = Slab.of(error).plus(time * block);
            if (last) {
                steps.multiply(errorNow, factors.memory().plus(time * block), memoryError);
            } else {
                products.recurrentBackward(Slab.of(deltas).plus((time + 1) * GATES * block), errorNow);
                steps.multiplyAdd(errorNow, factors.memory().plus(time * block), memoryError);
            }
            steps.multiply(memoryError, factors.input().plus(time * block), part(delta, INPUT));
            steps.multiply(memoryError, factors.forget().plus(time * block), part(delta, FORGET));
            steps.multiply(errorNow, factors.output().plus(time * block), part(delta, OUTPUT));
            steps.multiply(memoryError, factors.inputGate().plus(time * block), part(delta, INPUT_GATE));
            steps.roundDeltas(Slab.of(delta), Slab.of(deltas).plus(time * GATES * block));
            steps.multiply(memoryError, at(trace.values(), FORGET, time), memoryError);
        }
    }

    private Slab part(INDArray delta, int which) {
        return new Slab(delta, which * shape.block());
    }

    /**
     * Factors for all time steps: of the output's gradient for memory and output gate, of the memory's gradient for the
     * rest.
     */
    private record Factors(Slab memory, Slab output, Slab forget, Slab input, Slab inputGate) {}

    /** Computes the factors in place, in the trace. */
    private Factors factors(LstmTrace trace, SequenceMemory memory) {
        Slab memories = Slab.of(trace.memories());
        Slab memoriesAfter = memories.plus(shape.block());
        Slab output = Slab.of(trace.activatedMemories());
        Slab outputGate = at(trace.values(), OUTPUT, 0);
        Slab input = at(trace.values(), INPUT, 0);
        Slab inputGate = at(trace.values(), INPUT_GATE, 0);
        Slab ofInputGate = Slab.of(memory.create(DataType.FLOAT, 1, shape.gate()));

        gate.backward(kept(gate, trace, OUTPUT), output, output);
        activation.backwardFromArguments(memoriesAfter, outputGate, outputGate);
        gate.backward(kept(gate, trace, FORGET), memories, memories);
        gate.backward(kept(gate, trace, INPUT_GATE), input, ofInputGate);
        activation.backward(kept(activation, trace, INPUT), inputGate, inputGate);
        return new Factors(outputGate, output, memories, inputGate, ofInputGate);
    }

    private Slab kept(CellFunction function, LstmTrace trace, int which) {
        return at(function.needsArguments() ? trace.sums() : trace.values(), which, 0);
    }

    @Override
    public void close() {
        products.close();
        steps.close();
        activation.close();
        gate.close();
        if (whole != null) {
            whole.close();
        }
    }
}
