package org.dl4jamp.onednn.attention;

import java.util.List;
import org.dl4jamp.onednn.memory.Place;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The arguments of a backward pass.
 *
 * @param trace of the forward pass
 * @param inputs in channels-last order
 * @param mask the summands of scores; null for none
 * @param epsilon the gradient of the output in channels-last order
 * @param gradients where those of the parameters go; null if there are none
 * @param nexts where those of the inputs go, in channels-last order; empty for none
 * @param working memory for intermediate results
 */
record AttentionBackward(
        AttentionTrace trace,
        List<INDArray> inputs,
        INDArray parameters,
        INDArray mask,
        INDArray epsilon,
        Place gradients,
        List<INDArray> nexts,
        AttentionMemory working) {}
