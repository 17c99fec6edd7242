package org.dl4jamp.onednn.activation;

import java.util.Optional;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A function that ND4J computes. Its arrays of arguments and gradients are ND4J's to write into, and it may return
 * others.
 */
record Nd4jFunction(IActivation activation, SequenceShape shape) implements CellFunction {
    @Override
    public Optional<Eltwise> eltwise() {
        return Optional.empty();
    }

    @Override
    public boolean needsArguments() {
        return true;
    }

    @Override
    public void forward(Slab arguments, Slab values, boolean training) {
        forward(step(arguments), step(values), training);
    }

    private void forward(INDArray arguments, INDArray values, boolean training) {
        if (Workspaces.address(arguments) != Workspaces.address(values)) {
            values.assign(arguments);
        }
        assign(activation.getActivation(values, training), values);
    }

    private INDArray step(Slab slab) {
        return slab.vector(shape.block()).reshape(shape.minibatch(), shape.units());
    }

    @Override
    public void backward(Slab kept, Slab factor, Slab product) {
        INDArray target = steps(product);
        if (!factor.beginsAt(product)) {
            target.assign(steps(factor));
        }
        assign(activation.backprop(steps(kept), target).getFirst(), target);
    }

    @Override
    public void backwardFromArguments(Slab arguments, Slab factor, Slab product) {
        backward(Slab.of(steps(arguments).dup()), factor, product);
    }

    private INDArray steps(Slab slab) {
        return slab.vector(shape.gate()).reshape(shape.rows(), shape.units());
    }

    private static void assign(INDArray result, INDArray target) {
        if (result != target) {
            target.assign(result);
        }
    }

    @Override
    public void close() {}
}
