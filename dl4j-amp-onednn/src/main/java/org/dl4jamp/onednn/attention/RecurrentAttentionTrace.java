package org.dl4jamp.onednn.attention;

import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The numbers of a forward pass of recurrent attention, each with all time steps. Without projections the queries are
 * the outputs of the time step before, and {@code attended} is {@code projected}.
 *
 * @param sums FLOAT, the function's arguments
 * @param values FLOAT, the function's values
 * @param outputs the values rounded
 * @param keys the projected keys and values; null without projections, when the input is both
 * @param queries unused in the first time step
 * @param attended what heads return, unused in the first time step
 * @param projected their projection, unused in the first time step
 */
record RecurrentAttentionTrace(
        INDArray sums,
        INDArray values,
        INDArray outputs,
        INDArray keys,
        INDArray queries,
        INDArray attended,
        INDArray projected) {}
