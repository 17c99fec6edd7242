package org.dl4jamp.engine;

import org.deeplearning4j.nn.api.Layer;
import org.dl4jamp.Precision;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * Which layer an engine is to make a twin of.
 *
 * @param name the layer's name in the plan
 * @param master the network's own layer, with parameters and gradients in views of the network's FP32 arrays
 * @param precision what to compute in: HALF or BFLOAT16; FLOAT for a layer that keeps FP32 parameters and arithmetic but takes or hands on
 *     half activations
 * @param storage the half type of activations in this network
 */
public record TwinRequest(String name, Layer master, Precision precision, DataType storage) {}
