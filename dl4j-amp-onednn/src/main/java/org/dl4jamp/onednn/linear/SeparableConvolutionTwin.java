package org.dl4jamp.onednn.linear;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.params.SeparableConvolutionParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.weights.KeptWeights;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A depthwise convolution, then a product of the channels of each pixel, which has bias and activation function. What
 * is between the two is in the arrays' type, and made again for the backward pass.
 */
final class SeparableConvolutionTwin extends ConvolutionTwinBase<SeparableConvolution2D> {
    private static final long serialVersionUID = 1L;

    private static final String DEPTH = SeparableConvolutionParamInitializer.DEPTH_WISE_WEIGHT_KEY;
    private static final String POINT = SeparableConvolutionParamInitializer.POINT_WISE_WEIGHT_KEY;
    private static final String BIAS = SeparableConvolutionParamInitializer.BIAS_KEY;

    private final transient ConvolutionForm pointwise;
    private final transient ProductCache pointKernels = new ProductCache();

    SeparableConvolutionTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, ConvolutionForm::depthwiseOf);
        this.pointwise = ConvolutionForm.pointwiseOf(layerConf());
    }

    private ProductKernels depthKernels() {
        return kernels(false, false, null);
    }

    private ProductKernels pointKernels(INDArray between) {
        Layout layout = Layout.channelsLast(dataType, between.shape());
        return pointKernels.get(
                layout,
                copies -> pointwise.kernels(
                        context(),
                        layerId(),
                        copies,
                        layout,
                        hasBias(),
                        passes().addsASum(),
                        passes().fusedFunction()));
    }

    private ProductPasses.Parameters parameters() {
        return new ProductPasses.Parameters(getParam(POINT), hasBias() ? getParam(BIAS) : null);
    }

    private INDArray between(
            ProductKernels kernels, INDArray x, boolean training, ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        kernels.takeWeights(getParam(DEPTH), training);
        INDArray between = Workspaces.channelsLast(workspaceMgr, working, dataType, kernels.outputShape());
        kernels.forward(x, null, between);
        return between;
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        ProductKernels depth = depthKernels();
        INDArray x = passes().inputForward(input, workspaceMgr);
        INDArray between = between(depth, x, training, ArrayType.FF_WORKING_MEM, workspaceMgr);
        return passes().forward(pointKernels(between), between, parameters(), training, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        ProductKernels depth = depthKernels();
        INDArray x = passes().inputBackward(input, workspaceMgr);
        INDArray between = between(depth, x, true, ArrayType.BP_WORKING_MEM, workspaceMgr);
        ProductKernels point = pointKernels(between);
        INDArray delta = passes().delta(point, between, parameters(), epsilon, workspaceMgr);
        INDArray depthGradient = gradientViews.get(DEPTH);
        INDArray pointGradient = gradientViews.get(POINT);
        INDArray biasGradient = hasBias() ? gradientViews.get(BIAS) : null;
        point.backwardWeights(between, delta, pointGradient, biasGradient);
        INDArray betweenGradient =
                Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, dataType, between.shape());
        point.backwardData(delta, getParam(POINT), betweenGradient);
        INDArray next = passes().backward(
                        depth,
                        x,
                        betweenGradient,
                        new ProductPasses.Parameters(getParam(DEPTH), null),
                        new ProductPasses.Parameters(depthGradient, null),
                        workspaceMgr);
        Gradient gradient = new DefaultGradient();
        if (hasBias()) {
            gradient.setGradientFor(BIAS, biasGradient);
        }
        gradient.setGradientFor(DEPTH, depthGradient, 'c');
        gradient.setGradientFor(POINT, pointGradient, 'c');
        return new Pair<>(gradient, next);
    }

    @Override
    public KeptWeights keptWeights() {
        return KeptWeights.both(super.keptWeights(), pointKernels.weights());
    }

    @Override
    public void close() {
        super.close();
        pointKernels.close();
    }
}
