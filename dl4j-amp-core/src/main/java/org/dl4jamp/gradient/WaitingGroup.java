package org.dl4jamp.gradient;

import java.util.Optional;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A group of micro-batches that isn't complete.
 *
 * @param microBatches their number
 * @param examples number of their examples
 * @param sums their gradients, a number for each parameter; empty if the group will be left out
 * @param failure why it will be left out, if it will
 */
public record WaitingGroup(int microBatches, long examples, Optional<INDArray> sums, Optional<Skip> failure) {}
