package org.dl4jamp.engine.nd4j;

import java.util.Arrays;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.feedforward.dense.DenseLayer;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.twin.Casting;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A dense layer over HALF weights that takes HALF {@code [minibatch, nIn]} and returns HALF {@code [minibatch, nOut]}.
 * Products are summed, and bias, mask and activation applied, in FP32; the result is rounded once. Gradients of the
 * parameters are FP32.
 *
 * <p>DL4J's layer normalization, weight noise and dropout aren't supported.
 */
final class DenseTwin extends DenseLayer {
    private static final long serialVersionUID = 1L;

    private final transient Products products;

    DenseTwin(NeuralNetConfiguration conf, Products products) {
        super(conf, DataType.HALF);
        this.products = products;
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        INDArray z = beforeActivation(WorkingMemory.forward(workspaceMgr));
        INDArray activations = layerConf().getActivationFn().getActivation(z, training);
        if (maskArray != null) {
            applyMask(activations);
        }
        return Casting.ND4J.cast(activations, DataType.HALF, workspaceMgr, ArrayType.ACTIVATIONS);
    }

    /** Returns FLOAT {@code [minibatch, nOut]}. */
    private INDArray beforeActivation(WorkingMemory memory) {
        INDArray weights = getParam(DefaultParamInitializer.WEIGHT_KEY);
        if (input.rank() != 2 || input.size(1) != weights.size(0)) {
            throw new DL4JInvalidInputException("Input of shape " + Arrays.toString(input.shape())
                    + " doesn't match the layer, which takes [minibatch, " + weights.size(0) + "]"
                    + (input.rank() == 2 ? "" : ". Is a preprocessor missing, or the input type wrong?") + " "
                    + layerId());
        }
        INDArray z = memory.create(DataType.FLOAT, 'c', input.size(0), weights.size(1));
        products.multiply(input, weights, z, 0, memory);
        if (hasBias()) {
            z.addiRowVector(memory.cast(getParam(DefaultParamInitializer.BIAS_KEY), DataType.FLOAT));
        }
        if (maskArray != null) {
            applyMask(z);
        }
        return z;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        WorkingMemory memory = WorkingMemory.backward(workspaceMgr);
        INDArray delta = memory.cast(epsilon, DataType.FLOAT);
        boolean identity = layerConf().getActivationFn() instanceof ActivationIdentity;
        if (!identity) {
            delta = layerConf()
                    .getActivationFn()
                    .backprop(beforeActivation(memory), delta)
                    .getFirst();
        }
        if (maskArray != null) {
            applyMask(delta);
        }
        INDArray rounded = identity && maskArray == null ? epsilon : memory.cast(delta, DataType.HALF);
        Gradient gradient = new DefaultGradient();
        if (hasBias()) {
            INDArray biasGradient = gradientViews.get(DefaultParamInitializer.BIAS_KEY);
            delta.sum(biasGradient, 0);
            gradient.setGradientFor(DefaultParamInitializer.BIAS_KEY, biasGradient);
        }
        INDArray weightGradient = gradientViews.get(DefaultParamInitializer.WEIGHT_KEY);
        products.multiply(input.transpose(), rounded, weightGradient, 0, memory);
        gradient.setGradientFor(DefaultParamInitializer.WEIGHT_KEY, weightGradient);

        INDArray next = memory.create(DataType.FLOAT, 'c', input.shape());
        products.multiply(rounded, getParam(DefaultParamInitializer.WEIGHT_KEY).transpose(), next, 0, memory);
        return new Pair<>(gradient, Casting.ND4J.cast(next, DataType.HALF, workspaceMgr, ArrayType.ACTIVATION_GRAD));
    }
}
