package org.dl4jamp.benchmarks.blueprint;

/** The parameters that an operation can have, in the shapes and orders that PyTorch and oneDNN share. */
public enum Parameter {
    /** {@code [out, in]}, or {@code [out, in, height, width]} of a convolution. */
    WEIGHTS,
    /** {@code [4 * out, in]}: weights of the layer's input for the gates input, forget, cell and output of an LSTM. */
    INPUT_WEIGHTS,
    /** {@code [4 * out, out]}: what they make of the layer's own last output. */
    RECURRENT_WEIGHTS,
    /**
     * {@code [3, out]}: weights of an LSTM's cells for its gates input, forget and output, in an LSTM with peepholes.
     */
    PEEPHOLES,
    /** {@code [out]}, or {@code [4 * out]} of an LSTM. */
    BIAS,
    /** {@code [channels]}: gamma of batch normalization. */
    SCALE,
    /** {@code [channels]}: beta of batch normalization. */
    SHIFT,
    /** {@code [channels]}: the running mean of batch normalization. */
    MEAN,
    /** {@code [channels]}: its running variance. */
    VARIANCE
}
