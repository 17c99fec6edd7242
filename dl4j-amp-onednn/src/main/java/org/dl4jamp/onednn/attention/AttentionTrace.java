package org.dl4jamp.onednn.attention;

import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The numbers of a forward pass that a backward pass needs.
 *
 * @param projected for each input, {@code [minibatch, time, uses * heads * headSize]}; the inputs themselves if there
 *     are no projections
 * @param attended the attention before its projection, {@code [minibatch, queries, heads * headSize]}; null if there is
 *     none
 */
record AttentionTrace(List<INDArray> projected, INDArray attended) {}
