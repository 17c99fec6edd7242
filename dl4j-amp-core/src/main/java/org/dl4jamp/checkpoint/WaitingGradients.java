package org.dl4jamp.checkpoint;

import java.util.Optional;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Micro-batches that wait for more to make a step of, with {@code AmpConfig.accumulate}.
 *
 * @param microBatches their number, at least 1
 * @param examples their number of examples, at least 1
 * @param sums their gradients, added up: FLOAT, one for each of the network's parameters; empty if they'll be left out
 * @param failure why their step will be left out, if it will
 */
public record WaitingGradients(
        int microBatches, long examples, Optional<INDArray> sums, Optional<WaitingGradients.Failure> failure) {
    /**
     * The reason for which a step will be skipped.
     *
     * @param cause BATCH, LOSS, OVERFLOW or UNSCALED
     * @param what what wasn't finite, in words
     * @param first the parameter whose gradient was the first not to be finite, if that was found
     */
    public record Failure(String cause, String what, Optional<String> first) {}

    public WaitingGradients {
        AmpException.ifNull(sums, "sums", "gradients, or none");
        AmpException.ifNull(failure, "failure", "why the step will be left out, or nothing");
        if (microBatches < 1 || examples < 1) {
            throw new AmpException("microBatches is " + microBatches + " and examples is " + examples
                    + ", but both have to be at least 1");
        }
    }

    /** Returns whether there have to be sums. */
    boolean needSums() {
        return failure.isEmpty();
    }

    /** Returns the same with sums that were read elsewhere. */
    WaitingGradients with(INDArray read) {
        return new WaitingGradients(microBatches, examples, Optional.of(read), failure);
    }
}
