package org.dl4jamp.engine;

import java.util.Optional;
import org.deeplearning4j.nn.api.Layer;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.LayerContext;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * A request to an engine for the twin of a layer.
 *
 * @param name the layer's name in the plan
 * @param master the network's own layer, with parameters and gradients in views of the network's FP32 arrays
 * @param precision the precision of the computation: HALF or BFLOAT16; FLOAT for a layer that keeps FP32 parameters and
 *     arithmetic but takes or returns half activations. FLOAT, too, in a network in FP32 for an engine that
 *     {@linkplain ComputeEngine#computesFloat computes it}
 * @param storage the half type of activations in this network; FLOAT if there is none
 * @param input the type of the layer's input activations
 * @param output the type of the activations that it returns
 * @param context the nodes before and after it
 * @param fusion the fusion that it takes part in, if it does
 */
public record TwinRequest(
        String name,
        Layer master,
        Precision precision,
        DataType storage,
        DataType input,
        DataType output,
        LayerContext context,
        Optional<PrecisionPlan.Fusion> fusion) {}
