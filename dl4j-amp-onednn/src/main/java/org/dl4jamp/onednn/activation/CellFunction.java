package org.dl4jamp.onednn.activation;

import java.util.Optional;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.activations.IActivation;

/**
 * An activation function of a recurrent layer, in FP32: forward at one time step, backward over all of them at once.
 */
public interface CellFunction extends AutoCloseable {
    /**
     * Returns oneDNN's, if it has the function and computes the derivative from the value; else that of the function's
     * own class.
     */
    static CellFunction of(IActivation activation, OneDnnContext context, String layer, SequenceShape shape) {
        return WholeArrayFunction.isOne(activation)
                ? new StepwiseFunction(activation, shape, false)
                : elementWise(activation, context, layer, shape);
    }

    /** Returns the function of an LSTM's gates. */
    static CellFunction ofGates(IActivation activation, OneDnnContext context, String layer, SequenceShape shape) {
        return WholeArrayFunction.isOne(activation)
                ? StepwiseFunction.ofGates(activation, shape)
                : elementWise(activation, context, layer, shape);
    }

    private static CellFunction elementWise(
            IActivation activation, OneDnnContext context, String layer, SequenceShape shape) {
        return EltwiseFunction.algorithm(activation)
                .<CellFunction>map(eltwise -> EltwiseFunction.make(context, layer, eltwise, shape))
                .orElseGet(() -> new Nd4jFunction(activation, shape));
    }

    /** Returns oneDNN's function that computes the values; empty if ND4J computes them. */
    Optional<Eltwise> eltwise();

    /** Returns whether {@link #backward} needs the function's arguments rather than its values. */
    boolean needsArguments();

    /** Computes the values at one time step, which may overwrite the arguments. */
    void forward(Slab arguments, Slab values, boolean training);

    /** Computes the values of an LSTM's memory cells at one time step. */
    default void forwardOfMemory(Slab memories, Slab values, boolean training) {
        forward(memories, values, training);
    }

    /** Returns whether values depend on several arguments, so that the derivative isn't one factor for each value. */
    default boolean isStepwise() {
        return false;
    }

    /**
     * Returns the derivative by time steps of a {@linkplain #isStepwise stepwise} function; else empty.
     *
     * @param arguments at all time steps
     * @param values at all time steps
     */
    default Optional<StepDerivative> derivative(Slab arguments, Slab values) {
        return Optional.empty();
    }

    /**
     * Multiplies by the derivative, for all time steps.
     *
     * @param kept the function's values, or its arguments if it needs them; lost if they're arguments
     * @param factor factors of the derivative
     * @param product where that goes; may be the factor's place
     */
    void backward(Slab kept, Slab factor, Slab product);

    /** Does the same from the function's arguments, which stay as they are. */
    void backwardFromArguments(Slab arguments, Slab factor, Slab product);

    @Override
    void close();
}
