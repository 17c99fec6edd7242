package org.dl4jamp.onednn.cell;

import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.dl4jamp.onednn.activation.CellFunction;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.TimeStepKernels;
import org.dl4jamp.onednn.weights.WeightCopy;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The arithmetic of a recurrent layer, for one shape of its input. Products, masks, rounding and the loop over time
 * steps are the same for all cells; subclasses add the functions of the gates and their derivatives. Sums and functions
 * are FP32. Factors of products are rounded, and so is what a layer of BFLOAT16 keeps for the backward pass.
 */
public abstract class RecurrentCell implements AutoCloseable {
    final SequenceShape shape;
    final DataType type;
    final TimeStepKernels steps;
    final CellFunction activation;
    final OneDnnContext context;
    private final SequenceProducts products;

    /**
     * A layer, and one shape of its input.
     *
     * @param weights memory for copies of its weights
     */
    public record Setup(OneDnnContext context, String layer, DataType type, SequenceShape shape, WeightCopy weights) {}

    RecurrentCell(Setup setup, FeedForwardLayer conf) {
        this.context = setup.context();
        this.shape = setup.shape();
        this.type = setup.type();
        this.products = SequenceProducts.make(context, setup.layer(), type, shape, setup.weights());
        this.steps = TimeStepKernels.make(context, setup.layer(), type, shape);
        this.activation = CellFunction.of(conf.getActivationFn(), context, setup.layer(), shape);
    }

    /** The trace of a forward pass. */
    public interface Trace {
        /** Returns the outputs: {@code [steps + 1, minibatch, units]}, the state before the first step in front. */
        INDArray outputs();

        /** Returns the outputs without the state before: {@code [steps, minibatch, units]}. */
        default INDArray outputsOfSteps() {
            INDArray all = outputs();
            long block = all.size(1) * all.size(2);
            return Slab.of(all)
                    .plus(block)
                    .vector(all.length() - block)
                    .reshape(all.size(0) - 1, all.size(1), all.size(2));
        }

        /** Returns the state after the last step, which is in the trace's memory. */
        RecurrentState last();

        /** Returns whether a backward pass may end after the first time step. */
        default boolean isTruncatable() {
            return true;
        }
    }

    /**
     * The arguments of a forward pass.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param mask FLOAT {@code [steps, minibatch]}, factors of outputs and state; null for none
     * @param keeps whether the trace is to hold all that {@link #backward} needs
     * @param truncates whether the backward pass ends after the first time step for sure
     * @param working memory for intermediate results
     * @param lasting memory for the trace
     */
    public record Forward(
            INDArray x,
            RecurrentParameters parameters,
            RecurrentState initial,
            INDArray mask,
            boolean training,
            boolean keeps,
            boolean truncates,
            SequenceMemory working,
            SequenceMemory lasting) {}

    /**
     * The arguments of a backward pass.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param error the gradient of the outputs, FLOAT {@code [steps, minibatch, units]}; it's used up
     * @param mask as in the forward pass
     * @param firstStep the earliest time step that gradients flow back to
     * @param inputGradient where that of the input goes, {@code [steps, minibatch, nIn]}; null if unused
     * @param memory memory for intermediate results
     */
    public record Backward(
            INDArray x,
            RecurrentParameters parameters,
            INDArray error,
            INDArray mask,
            long firstStep,
            RecurrentParameters gradients,
            INDArray inputGradient,
            SequenceMemory memory) {}

    /** Gradients of the sums of one time step, which are computed from the last step to the first. */
    interface Deltas {
        /**
         * Returns them, {@code [gates, minibatch, units]}, for the error of that time step's outputs: FLOAT if there is
         * one gate, else of the layer's type.
         */
        Slab of(long time, Slab error);

        /** Writes gradients that only some cells have, once all time steps are done. */
        default void finish() {}
    }

    /**
     * Makes room for the trace of a forward pass, and puts the state before it there.
     *
     * @param sums {@code [gates, steps * minibatch * units]}
     * @param outputs {@code [steps + 1, minibatch, units]}
     * @param memory memory for all but the outputs
     */
    abstract StepTrace begin(Forward pass, INDArray sums, INDArray outputs, SequenceMemory memory);

    /** Computes a time step from its sums, and returns its outputs in FP32. */
    abstract Slab step(StepTrace trace, long time, Forward pass);

    /** Returns whether the trace is {@linkplain #condensed} after the last step. */
    abstract boolean condenses(Forward pass);

    /** Returns what the backward pass needs of a trace, in the memory for the trace; the trace is used up. */
    abstract Trace condensed(StepTrace trace, Forward pass);

    /**
     * Prepares a backward pass. Derivatives don't depend on the error, so they're computed for all time steps at once.
     *
     * @param trace of the forward pass; it's used up
     */
    abstract Deltas deltas(Trace trace, Backward pass);

    public Trace forward(Forward pass) {
        long block = shape.block();
        SequenceMemory memory = condenses(pass) ? pass.working() : pass.lasting();
        INDArray sums = memory.create(DataType.FLOAT, shape.gates(), shape.gate());
        INDArray outputs = pass.lasting().create(type, shape.steps() + 1, shape.minibatch(), shape.units());
        StepTrace trace = begin(pass, sums, outputs, memory);
        begin(outputs, pass.initial().output());

        products.takeWeights(pass.parameters());
        products.input(pass.x(), pass.parameters().bias(), Slab.of(sums));
        Slab now = Slab.of(outputs);
        for (long time = 0; time < shape.steps(); time++) {
            if (time > 0 || !pass.initial().isZero()) {
                products.recurrent(
                        Slab.of(outputs).plus(time * block), Slab.of(sums).plus(time * block));
            }
            now = step(trace, time, pass);
            if (pass.mask() != null) {
                Slab mask = Slab.of(pass.mask()).plus(time * shape.minibatch());
                steps.mask(now, mask);
                if (trace.memories() != null) {
                    steps.mask(trace.memory(time + 1), mask);
                }
            }
            steps.round(now, Slab.of(outputs).plus((time + 1) * block));
        }
        StepTrace ended = trace.endedBy(now);
        return condenses(pass) ? condensed(ended, pass) : ended;
    }

    /** Fills the front of an array with the numbers before the first time step. */
    final void begin(INDArray array, INDArray initial) {
        INDArray first = Slab.of(array).vector(shape.block()).reshape(shape.minibatch(), shape.units());
        if (initial == null) {
            first.assign(0);
        } else {
            first.assign(initial);
        }
    }

    /**
     * Runs a backward pass.
     *
     * @param kept a trace that kept everything; it's used up
     */
    public void backward(Trace kept, Backward pass) {
        SequenceMemory memory = pass.memory();
        long block = shape.columns() * shape.minibatch();
        INDArray deltas = memory.create(type, shape.steps(), shape.minibatch(), shape.columns());
        if (pass.firstStep() > 0) {
            Slab.of(deltas).vector(pass.firstStep() * block).assign(0);
        }
        products.takeWeightsBackward(pass.parameters());
        Deltas ofStep = deltas(kept, pass);
        for (long time = shape.steps() - 1; time >= pass.firstStep(); time--) {
            Slab error = Slab.of(pass.error()).plus(time * shape.block());
            if (time < shape.steps() - 1) {
                products.recurrentBackward(Slab.of(deltas).plus((time + 1) * block), error);
            }
            steps.arrangeDeltas(ofStep.of(time, error), Slab.of(deltas).plus(time * block));
        }
        products.weightGradients(pass.x(), Slab.of(kept.outputs()), deltas, pass.gradients());
        ofStep.finish();
        if (pass.inputGradient() != null) {
            products.inputGradient(deltas, pass.inputGradient());
        }
    }

    @Override
    public void close() {
        products.close();
        steps.close();
        activation.close();
    }
}
