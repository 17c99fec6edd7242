package org.dl4jamp.onednn.linear;

import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A dense layer of {@code [minibatch, nIn]}. */
final class DenseTwin extends ProductTwin<DenseLayer> {
    private static final long serialVersionUID = 1L;

    DenseTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, ChannelAxis.SECOND);
    }

    @Override
    ProductPasses.Parameters inOrder(Map<String, INDArray> table) {
        return new ProductPasses.Parameters(Views.transposed(table.get(WEIGHTS)), table.get(BIAS));
    }

    @Override
    ProductKernels kernels(ProductPasses.Parameters parameters) {
        if (input.rank() != 2 || input.size(1) != parameters.weights().size(1)) {
            Rejection.of(conf, paramsFlattened, index, input);
        }
        return cache.dense(layerId(), dataType, input, parameters, passes.addsASum(), passes.fusedFunction());
    }

    @Override
    void maskOutput(INDArray output) {
        applyMask(output);
    }

    @Override
    void maskDelta(INDArray delta) {
        applyMask(delta);
    }

    @Override
    Gradient gradients() {
        Gradient gradient = new DefaultGradient();
        if (hasBias()) {
            gradient.setGradientFor(BIAS, gradientViews.get(BIAS));
        }
        gradient.setGradientFor(WEIGHTS, gradientViews.get(WEIGHTS));
        return gradient;
    }

    @Override
    public boolean hasBias() {
        return layerConf().hasBias();
    }
}
