package org.dl4jamp.onednn.activation;

import java.util.Arrays;
import java.util.Optional;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A function of all sums of a time step, which its own class computes: softmax, PReLU, and users' classes. It is called
 * with FP32 {@code [minibatch, units]}, in the order of DL4J's layers, and may overwrite both arrays.
 *
 * <p>DL4J's recurrent layers read the values where the arguments were, and not the array that the function returns. So
 * a function that returns another array is the identity in a forward pass. Only an LSTM reads what the function of its
 * memory cells returns.
 *
 * @param slopeOfSigmoid whether the derivative is that of a sigmoid, computed from the value
 */
record StepwiseFunction(IActivation activation, SequenceShape shape, boolean slopeOfSigmoid) implements CellFunction {

    /** Returns the function of an LSTM's gates: DL4J's layers take a subclass of its sigmoid for the sigmoid. */
    static StepwiseFunction ofGates(IActivation activation, SequenceShape shape) {
        return new StepwiseFunction(activation, shape, activation instanceof ActivationSigmoid);
    }

    @Override
    public Optional<Eltwise> eltwise() {
        return Optional.empty();
    }

    @Override
    public boolean needsArguments() {
        return true;
    }

    @Override
    public boolean isStepwise() {
        return true;
    }

    @Override
    public Optional<StepDerivative> derivative(Slab arguments, Slab values) {
        return Optional.of((time, gradient) -> {
            long at = time * shape.block();
            INDArray target = step(gradient);
            if (slopeOfSigmoid) {
                INDArray value = step(values.plus(at));
                target.muli(value).muli(value.rsub(1));
            } else {
                backward(step(arguments.plus(at)).dup(), target);
            }
        });
    }

    @Override
    public void forward(Slab arguments, Slab values, boolean training) {
        activation.getActivation(copied(arguments, values), training);
    }

    @Override
    public void forwardOfMemory(Slab memories, Slab values, boolean training) {
        INDArray target = copied(memories, values);
        assign(activation.getActivation(target, training), target);
    }

    /** Copies the arguments to the place of the values. */
    private INDArray copied(Slab arguments, Slab values) {
        INDArray from = step(arguments);
        INDArray to = step(values);
        if (Workspaces.address(from) != Workspaces.address(to)) {
            to.assign(from);
        }
        return to;
    }

    @Override
    public void backward(Slab kept, Slab factor, Slab product) {
        for (long time = 0; time < shape.steps(); time++) {
            long at = time * shape.block();
            backward(step(kept.plus(at)), copied(factor.plus(at), product.plus(at)));
        }
    }

    @Override
    public void backwardFromArguments(Slab arguments, Slab factor, Slab product) {
        INDArray all = arguments.vector(shape.gate()).dup();
        backward(Slab.of(all), factor, product);
    }

    private void backward(INDArray arguments, INDArray gradient) {
        assign(activation.backprop(arguments, gradient).getFirst(), gradient);
    }

    private INDArray step(Slab slab) {
        return slab.vector(shape.block()).reshape(shape.minibatch(), shape.units());
    }

    private void assign(INDArray result, INDArray target) {
        if (!Arrays.equals(result.shape(), target.shape())) {
            throw new IllegalStateException("Activation function " + activation + " returned an array of shape "
                    + Arrays.toString(result.shape()) + " for one of shape " + Arrays.toString(target.shape()));
        }
        if (result != target) {
            target.assign(result);
        }
    }

    @Override
    public void close() {}
}
