package org.dl4jamp.onednn.linear;

import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.dl4jamp.onednn.linear.ProductKernels.Parameters;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A dense layer of {@code [minibatch, nIn]}. */
final class DenseTwin extends ProductTwin<DenseLayer> implements Twin.Repeatable {
    private static final long serialVersionUID = 1L;

    DenseTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, ChannelAxis.SECOND);
    }

    @Override
    Parameters inOrder(Map<String, INDArray> table) {
        return new Parameters(Views.transposed(table.get(WEIGHTS)), table.get(BIAS));
    }

    @Override
    public boolean isRepeatable() {
        return hasFusedFunction();
    }

    @Override
    ProductKernels kernels(Parameters parameters) {
        if (input.rank() != 2 || input.size(1) != parameters.weights().size(1)) {
            Rejection.of(conf, paramsFlattened, index, input);
        }
        return cache.dense(layerId(), dataType, input, parameters, addsASum(), fusedFunction());
    }
}
