package org.dl4jamp.extension;

import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Parameters, memory and products for one pass of a layer. It is valid until the pass returns. */
public interface LayerArrays {
    /** Returns whether the pass is one of training; true in each backward pass. */
    boolean training();

    /** Returns the type of input, activations and their gradients: FLOAT or BFLOAT16. */
    DataType type();

    /** Returns the mask of the input, or null. */
    INDArray mask();

    /**
     * Returns a parameter in the pass's type, not to be written.
     *
     * @throws org.dl4jamp.precision.AmpException if the layer has none of that name
     */
    INDArray parameter(String name);

    /**
     * Returns the place for a parameter's gradient, which is FLOAT and has arbitrary content. A backward pass that
     * doesn't call for each of them is refused: the step would take what was there before.
     *
     * @throws org.dl4jamp.precision.AmpException if the layer has no parameter of that name
     */
    INDArray gradient(String name);

    /** Returns an array of the pass's type with arbitrary content, for what the pass returns. */
    INDArray result(long... shape);

    /** Returns an array of the pass's type with arbitrary content, which is valid during the pass. */
    INDArray working(long... shape);

    /**
     * Multiplies matrices, or pairs of several, with oneDNN. Sums are FP32, and are rounded once.
     *
     * @param left {@code [rows, inner]} or {@code [..., rows, inner]}; transposed views are read in place
     * @param right {@code [inner, columns]} or {@code [..., inner, columns]}, of the same type
     * @param target {@code [rows, columns]} or {@code [..., rows, columns]}, overwritten
     * @return the target
     * @throws IllegalArgumentException if shapes or types don't fit
     */
    INDArray product(INDArray left, INDArray right, INDArray target);
}
