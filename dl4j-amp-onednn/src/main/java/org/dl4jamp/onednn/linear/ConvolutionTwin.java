package org.dl4jamp.onednn.linear;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.params.ConvolutionParamInitializer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.SequenceMask;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A convolution along one, two or three axes, a deconvolution or a depthwise convolution. The input is
 * {@code [minibatch, nIn, ...]} or {@code [minibatch, ..., nIn]}. The twin rounds the FP32 master weights itself.
 * Gradients of the parameters are FP32.
 */
final class ConvolutionTwin extends ConvolutionTwinBase<ConvolutionLayer> {
    private static final long serialVersionUID = 1L;

    private static final String WEIGHTS = ConvolutionParamInitializer.WEIGHT_KEY;
    private static final String BIAS = ConvolutionParamInitializer.BIAS_KEY;

    ConvolutionTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, ConvolutionForm::of);
    }

    private ProductPasses.Parameters parameters() {
        return new ProductPasses.Parameters(getParam(WEIGHTS), hasBias() ? getParam(BIAS) : null);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        ProductKernels ours = kernels(hasBias(), passes().addsASum(), passes().fusedFunction());
        INDArray x = passes().inputForward(input, workspaceMgr);
        INDArray output = passes().forward(ours, x, parameters(), training, workspaceMgr);
        if (maskArray != null && layerConf() instanceof Convolution1DLayer) {
            SequenceMask.of(layerConf(), maskArray).applyTo(output);
            // DL4J's backward pass goes through masked steps, too.
            passes().clear();
        }
        return output;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        ProductKernels ours = kernels(hasBias(), passes().addsASum(), passes().fusedFunction());
        INDArray x = passes().inputBackward(input, workspaceMgr);
        INDArray delta = passes().delta(ours, x, parameters(), epsilon, workspaceMgr);
        INDArray weightGradient = gradientViews.get(WEIGHTS);
        INDArray biasGradient = hasBias() ? gradientViews.get(BIAS) : null;
        INDArray next = passes().backward(
                        ours,
                        x,
                        delta,
                        parameters(),
                        new ProductPasses.Parameters(weightGradient, biasGradient),
                        workspaceMgr);
        Gradient gradient = new DefaultGradient();
        if (hasBias()) {
            gradient.setGradientFor(BIAS, biasGradient);
        }
        gradient.setGradientFor(WEIGHTS, weightGradient, 'c');
        return new Pair<>(gradient, next);
    }
}
