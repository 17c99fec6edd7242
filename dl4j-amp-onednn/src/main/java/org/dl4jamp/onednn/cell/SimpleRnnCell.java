package org.dl4jamp.onednn.cell;

import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.dl4jamp.onednn.activation.StepDerivative;
import org.dl4jamp.onednn.host.Magnitudes;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A simple recurrent network without layer normalization: {@code h[t] = activation(x W + h[t-1] R + b)}. */
public final class SimpleRnnCell extends RecurrentCell {
    public static final int GATES = 1;

    private final boolean dropsGradients;

    public SimpleRnnCell(Setup setup, SimpleRnn conf) {
        super(setup, conf);
        this.dropsGradients = Eltwise.of(conf.getActivationFn())
                .filter(Eltwise::dropsGradients)
                .isPresent();
    }

    @Override
    StepTrace begin(Forward pass, INDArray sums, INDArray outputs, SequenceMemory memory) {
        INDArray values = condenses(pass) || activation.needsArguments()
                ? pass.lasting().create(DataType.FLOAT, GATES, shape.block())
                : sums;
        return new StepTrace(shape, sums, values, null, null, outputs, null, null);
    }

    @Override
    Slab step(StepTrace trace, long time, Forward pass) {
        activation.forward(trace.sum(0, time), trace.value(0, time), pass.training());
        return trace.value(0, time);
    }

    /** Rounds what is kept. The sums are: derivatives from rounded values would be wrong where a function is flat. */
    @Override
    boolean condenses(Forward pass) {
        return pass.keeps() && type != DataType.FLOAT;
    }

    @Override
    Trace condensed(StepTrace trace, Forward pass) {
        return trace.rounded(context, type, pass.lasting());
    }

    @Override
    Deltas deltas(Trace kept, Backward pass) {
        StepTrace trace = ((StepTrace) kept).widened(context, pass.memory());
        // DL4J's layer leaves the output before the earliest time step out of the recurrent weights' gradient.
        Slab.of(trace.outputs())
                .plus(pass.firstStep() * shape.block())
                .vector(shape.block())
                .assign(0);
        Slab sums = trace.sum(0, 0);
        return activation
                .derivative(sums, sums)
                .map(derivative -> stepwise(derivative, sums, pass))
                .orElseGet(() -> bySlopes(trace, pass));
    }

    /** DL4J's layer masks the sums, too, before it computes the derivative. */
    private Deltas stepwise(StepDerivative derivative, Slab sums, Backward pass) {
        return (time, error) -> {
            mask(sums.plus(time * shape.block()), time, pass);
            derivative.multiply(time, error);
            mask(error, time, pass);
            return error;
        };
    }

    private void mask(Slab array, long time, Backward pass) {
        if (pass.mask() != null) {
            steps.mask(array, Slab.of(pass.mask()).plus(time * shape.minibatch()));
        }
    }

    private Deltas bySlopes(StepTrace trace, Backward pass) {
        Slab slopes = Slab.of(
                pass.memory().create(DataType.FLOAT, GATES, shape.gate()).assign(1));
        if (trace.values() == null) {
            activation.backwardFromArguments(trace.sum(0, 0), slopes, slopes);
        } else {
            activation.backward(Slab.of(activation.needsArguments() ? trace.sums() : trace.values()), slopes, slopes);
        }
        if (dropsGradients && context.takesForeignGradients() && !Magnitudes.areFinite(pass.error())) {
            drop(pass.error(), slopes);
        }
        return (time, error) -> {
            steps.multiply(error, slopes.plus(time * shape.block()), error);
            mask(error, time, pass);
            return error;
        };
    }

    /** Drops gradients, NaN too, where the slope is zero. */
    private void drop(INDArray error, Slab slopes) {
        INDArray all = slopes.vector(shape.gate());
        INDArray gradients = Slab.of(error).vector(shape.gate());
        for (long i = 0; i < shape.gate(); i++) {
            if (all.getFloat(i) == 0) {
                gradients.putScalar(i, 0);
            }
        }
    }
}
