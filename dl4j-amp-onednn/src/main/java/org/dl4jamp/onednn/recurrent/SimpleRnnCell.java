package org.dl4jamp.onednn.recurrent;

import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.dl4jamp.onednn.activation.CellFunction;
import org.dl4jamp.onednn.host.Magnitudes;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.TimeStepKernels;
import org.dl4jamp.onednn.weights.RecurrentWeights;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A simple recurrent network without layer normalization: {@code h[t] = activation(x W + h[t-1] R + b)}. Sums and
 * function are FP32. Factors of products are rounded, and so are the sums that a layer of BFLOAT16 keeps for the
 * backward pass.
 */
final class SimpleRnnCell implements RecurrentCell {
    static final int GATES = 1;

    private final OneDnnContext context;
    private final SequenceShape shape;
    private final DataType type;
    private final SequenceProducts products;
    private final TimeStepKernels steps;
    private final CellFunction activation;
    private final boolean dropsGradients;

    SimpleRnnCell(
            OneDnnContext context,
            String layer,
            DataType type,
            SimpleRnn conf,
            SequenceShape shape,
            RecurrentWeights weights) {
        this.context = context;
        this.shape = shape;
        this.type = type;
        this.products = SequenceProducts.make(context, layer, type, shape, weights);
        this.steps = TimeStepKernels.make(context, layer, type, shape);
        this.activation = CellFunction.of(conf.getActivationFn(), context, layer, shape);
        this.dropsGradients = Eltwise.of(conf.getActivationFn())
                .filter(Eltwise::dropsGradients)
                .isPresent();
    }

    /**
     * The trace of a forward pass.
     *
     * @param kept FLOAT: the function's values, or its arguments if it needs them; in the layer's type: its arguments;
     *     {@code [1, steps * minibatch * units]}
     * @param outputs {@code [steps + 1, minibatch, units]}
     * @param lastOutput FLOAT {@code [minibatch, units]}
     */
    private record RnnTrace(INDArray kept, INDArray outputs, INDArray lastOutput) implements Trace {
        @Override
        public RecurrentState last() {
            return new RecurrentState(lastOutput, null);
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
        long block = shape.block();
        boolean rounds = keeps && type != DataType.FLOAT;
        boolean keepsSums = rounds || activation.needsArguments();
        INDArray sums = (rounds ? working : lasting).create(DataType.FLOAT, GATES, shape.gate());
        INDArray outputs = lasting.create(type, shape.steps() + 1, shape.minibatch(), shape.units());
        INDArray output = lasting.create(DataType.FLOAT, shape.minibatch(), shape.units());
        INDArray first = Slab.of(outputs).vector(block).reshape(shape.minibatch(), shape.units());
        if (initial.isZero()) {
            first.assign(0);
        } else {
            first.assign(initial.output());
        }

        products.takeWeights(parameters.inputWeights(), parameters.recurrentWeights());
        products.input(x, parameters.bias(), Slab.of(sums));
        Slab now = Slab.of(output);
        for (long time = 0; time < shape.steps(); time++) {
            Slab sum = Slab.of(sums).plus(time * block);
            if (time > 0 || !initial.isZero()) {
                products.recurrent(Slab.of(outputs).plus(time * block), sum);
            }
            now = keepsSums ? Slab.of(output) : sum;
            activation.forward(sum, now, training);
            if (mask != null) {
                steps.mask(now, Slab.of(mask).plus(time * shape.minibatch()));
            }
            steps.round(now, Slab.of(outputs).plus((time + 1) * block));
        }
        INDArray kept = rounds ? lasting.copy(context, type, sums) : sums;
        return new RnnTrace(kept, outputs, now.vector(block).reshape(shape.minibatch(), shape.units()));
    }

    @Override
    public void backward(
            Trace kept, INDArray error, INDArray mask, long firstStep, INDArray deltas, SequenceMemory memory) {
        RnnTrace trace = (RnnTrace) kept;
        long block = shape.block();
        Slab derivatives =
                Slab.of(memory.create(DataType.FLOAT, 1, shape.gate()).assign(1));
        if (trace.kept().dataType() == DataType.FLOAT) {
            activation.backward(Slab.of(trace.kept()), derivatives, derivatives);
        } else {
            Slab sums = Slab.of(memory.copy(context, DataType.FLOAT, trace.kept()));
            activation.backwardFromArguments(sums, derivatives, derivatives);
        }
        if (dropsGradients && context.takesForeignGradients() && !Magnitudes.areFinite(error)) {
            drop(error, derivatives);
        }
        for (long time = shape.steps() - 1; time >= firstStep; time--) {
            Slab errorNow = Slab.of(error).plus(time * block);
            if (time < shape.steps() - 1) {
                products.recurrentBackward(Slab.of(deltas).plus((time + 1) * block), errorNow);
            }
            steps.multiply(errorNow, derivatives.plus(time * block), errorNow);
            if (mask != null) {
                steps.mask(errorNow, Slab.of(mask).plus(time * shape.minibatch()));
            }
            steps.round(errorNow, Slab.of(deltas).plus(time * block));
        }
        // DL4J's layer leaves the output before the earliest time step out of the recurrent weights' gradient.
        Slab.of(trace.outputs()).plus(firstStep * block).vector(block).assign(0);
    }

    /** Drops gradients, NaN too, where the slope is zero. */
    private void drop(INDArray error, Slab derivatives) {
        INDArray slopes = derivatives.vector(shape.gate());
        INDArray gradients = Slab.of(error).vector(shape.gate());
        for (long i = 0; i < shape.gate(); i++) {
            if (slopes.getFloat(i) == 0) {
                gradients.putScalar(i, 0);
            }
        }
    }

    @Override
    public void close() {
        products.close();
        steps.close();
        activation.close();
    }
}
