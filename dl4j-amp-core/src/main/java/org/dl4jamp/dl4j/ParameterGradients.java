package org.dl4jamp.dl4j;

import java.util.LinkedHashMap;
import java.util.Map;
import org.deeplearning4j.nn.api.Trainable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * Gradients of single parameters in a network's gradient view. DL4J's updater takes the parameters of a layer for laid
 * out in the order of its table, which those of depthwise convolutions aren't, and DL4J's initializer for bidirectional
 * layers throws. So a gradient is found where its parameter is among the network's parameters.
 */
public final class ParameterGradients {
    private ParameterGradients() {}

    /**
     * Returns views of the gradients of a layer's or vertex's parameters, by their names in it.
     *
     * @param trainable of the network
     * @param parameters the network's, all in one array
     * @param gradients the network's, laid out alike
     * @return of rank 1
     */
    public static Map<String, INDArray> of(Trainable trainable, INDArray parameters, INDArray gradients) {
        INDArray flat = gradients.reshape(gradients.length());
        Map<String, INDArray> views = new LinkedHashMap<>();
        trainable.paramTable(false).forEach((name, parameter) -> {
            long start = parameter.offset() - parameters.offset();
            views.put(name, flat.get(NDArrayIndex.interval(start, start + parameter.length())));
        });
        return views;
    }
}
