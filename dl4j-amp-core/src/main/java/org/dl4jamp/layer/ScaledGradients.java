package org.dl4jamp.layer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * The parts of a layer's gradient view that hold gradients, not updates of running statistics, which are never scaled.
 *
 * @param ranges views, in the order of the parameters
 */
record ScaledGradients(List<INDArray> ranges) {
    void multiply(double factor) {
        for (INDArray range : ranges) {
            range.muli(factor);
        }
    }

    /**
     * Returns those of a layer.
     *
     * @param gradients the layer's gradient view
     */
    static ScaledGradients of(Layer layer, INDArray gradients) {
        INDArray flat = gradients.reshape(gradients.length());
        List<INDArray> ranges = new ArrayList<>();
        long start = 0;
        long end = 0;
        for (Map.Entry<String, INDArray> parameter : layer.paramTable(false).entrySet()) {
            long length = parameter.getValue().length();
            if (!layer.updaterDivideByMinibatch(parameter.getKey())) {
                addRange(flat, start, end, ranges);
                start = end + length;
            }
            end += length;
        }
        addRange(flat, start, end, ranges);
        return new ScaledGradients(List.copyOf(ranges));
    }

    private static void addRange(INDArray flat, long start, long end, List<INDArray> ranges) {
        if (end > start) {
            ranges.add(flat.get(NDArrayIndex.interval(start, end)));
        }
    }
}
