package org.dl4jamp.gradient;

import java.util.Optional;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.Skip;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A group of micro-batches that isn't complete, with {@code AmpConfig.accumulate}.
 *
 * @param microBatches their number, at least 1
 * @param examples number of their examples, at least 1
 * @param sums their gradients, added up: FLOAT, one for each of the network's parameters; empty if they'll be skipped
 * @param skip the reason to skip their step, if there is one
 */
public record WaitingGroup(int microBatches, long examples, Optional<INDArray> sums, Optional<Skip> skip) {
    public WaitingGroup {
        AmpException.ifNull(sums, "sums", "gradients, or none");
        AmpException.ifNull(skip, "skip", "the reason to skip their step, or nothing");
        if (microBatches < 1 || examples < 1) {
            throw new AmpException("microBatches is " + microBatches + " and examples is " + examples
                    + ", but both have to be at least 1");
        }
    }
}
