package org.dl4jamp.onednn.activation;

import java.util.Optional;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.activations.IActivation;

/**
 * An activation function of a recurrent layer, in FP32: forward at one time step or all of them, backward over all of
 * them at once.
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

    /** Returns whether {@link #backward} needs the function's arguments rather than its values. */
    boolean needsArguments();

    /** Computes the values at one time step, which may overwrite the arguments. */
    void forward(Slab arguments, Slab values, boolean training);

    /** Computes the values of an LSTM's memory cells at one time step. */
    default void forwardOfMemory(Slab memories, Slab values, boolean training) {
        forward(memories, values, training);
    }

    /**
     * Returns the derivative by time steps, for a function whose values depend on several arguments; else empty, and
     * the derivative is one factor for each value.
     *
     * @param arguments at all time steps
     * @param values at all time steps
     */
    default Optional<StepDerivative> derivative(Slab arguments, Slab values) {
        return Optional.empty();
    }

    /** Computes the values at all time steps, which may overwrite the arguments. */
    void forwardAll(Slab arguments, Slab values, boolean training);

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
