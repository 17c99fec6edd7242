package org.dl4jamp.engine.nd4j;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.params.ConvolutionParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.layer.Casts;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A two-dimensional convolution over HALF weights that takes HALF {@code [minibatch, nIn, height, width]} and returns HALF
 * {@code [minibatch, nOut, height, width]}, as a view of memory with channels last, which a 1×1 convolution can take as it
 * is. Products are summed, and bias and activation applied, in FP32; the result is rounded once. Gradients of the
 * parameters are FP32.
 *
 * <p>DL4J's {@code NHWC} format, weight noise and dropout aren't supported, nor activation functions that don't work
 * element by element.
 */
final class ConvolutionTwin extends ConvolutionLayer {
    private static final long serialVersionUID = 1L;

    private final transient Products products;

    ConvolutionTwin(NeuralNetConfiguration conf, Products products) {
        super(conf, DataType.HALF);
        this.products = products;
        this.helper = null;
    }

    private Patches patches() {
        validateInputRank();
        validateInputDepth(getParam(ConvolutionParamInitializer.WEIGHT_KEY).size(1));
        return new Patches(layerConf(), convolutionMode, input);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        WorkingMemory memory = WorkingMemory.forward(workspaceMgr);
        Patches patches = patches();
        INDArray z = beforeActivation(patches.of(input, memory), memory);
        INDArray activations = layerConf().getActivationFn().getActivation(z, training);
        return patches.rowsToImages(Casts.cast(activations, DataType.HALF, workspaceMgr, ArrayType.ACTIVATIONS));
    }

    /** FLOAT {@code [minibatch * outHeight * outWidth, nOut]}. */
    private INDArray beforeActivation(INDArray patches, WorkingMemory memory) {
        INDArray weights = weights(patches.size(1));
        INDArray z = memory.create(DataType.FLOAT, 'c', patches.size(0), weights.size(0));
        products.multiply(patches, weights.transpose(), z, 0, memory);
        if (hasBias()) {
            z.addiRowVector(memory.cast(getParam(ConvolutionParamInitializer.BIAS_KEY), DataType.FLOAT));
        }
        return z;
    }

    /** HALF {@code [nOut, nIn * kernelHeight * kernelWidth]}. */
    private INDArray weights(long columns) {
        INDArray weights = getParam(ConvolutionParamInitializer.WEIGHT_KEY);
        return weights.reshape('c', weights.size(0), columns);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        WorkingMemory memory = WorkingMemory.backward(workspaceMgr);
        Patches patches = patches();
        INDArray inputPatches = patches.of(input, memory);
        INDArray delta = patches.imagesToRows(epsilon, memory);
        if (!(layerConf().getActivationFn() instanceof ActivationIdentity)) {
            delta = layerConf()
                    .getActivationFn()
                    .backprop(beforeActivation(inputPatches, memory), delta)
                    .getFirst();
        }
        Gradient gradient = new DefaultGradient();
        if (hasBias()) {
            INDArray biasGradient = gradientViews.get(ConvolutionParamInitializer.BIAS_KEY);
            delta.sum(biasGradient, 0);
            gradient.setGradientFor(ConvolutionParamInitializer.BIAS_KEY, biasGradient);
        }
        INDArray rounded = memory.cast(delta, DataType.HALF);
        INDArray weightGradient = gradientViews.get(ConvolutionParamInitializer.WEIGHT_KEY);
        products.multiply(
                rounded.transpose(),
                inputPatches,
                weightGradient.reshape('c', rounded.size(1), patches.columns()),
                0,
                memory);
        gradient.setGradientFor(ConvolutionParamInitializer.WEIGHT_KEY, weightGradient, 'c');

        INDArray patchGradients = memory.create(DataType.FLOAT, 'c', patches.rows(), patches.columns());
        products.multiply(rounded, weights(patches.columns()), patchGradients, 0, memory);
        INDArray next =
                Casts.cast(patches.sum(patchGradients, memory), DataType.HALF, workspaceMgr, ArrayType.ACTIVATION_GRAD);
        return new Pair<>(gradient, next.permute(0, 3, 1, 2));
    }
}
