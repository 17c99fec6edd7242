package org.dl4jamp.inspect.compare;

import java.util.Map;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The results of a forward and backward pass of one batch. The arrays are copies outside of workspaces.
 *
 * @param activations the outputs of layers and vertices by name, in the types that they have in the network
 * @param gradients of the parameters of each layer or vertex, by its name and the parameter's: true gradients of the
 *     batch, as DL4J's updater is given them
 * @param loss of the batch, with the penalties of regularization
 */
record Pass(Map<String, INDArray> activations, Map<String, Map<String, INDArray>> gradients, double loss) {}
