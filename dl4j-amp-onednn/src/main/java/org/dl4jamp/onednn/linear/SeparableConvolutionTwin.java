package org.dl4jamp.onednn.linear;

import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.params.SeparableConvolutionParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.linear.ProductKernels.Parameters;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A depthwise convolution, then a product of the channels of each pixel, which has bias and activation function. What
 * is between the two is in the arrays' type, and made again for the backward pass.
 */
final class SeparableConvolutionTwin extends ConvolutionTwin {
    private static final long serialVersionUID = 1L;

    private static final String POINT = SeparableConvolutionParamInitializer.POINT_WISE_WEIGHT_KEY;

    private final transient ConvolutionForm pointwise;
    private final transient ProductCache pointKernels;

    SeparableConvolutionTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, ConvolutionForm.depthwiseOf((SeparableConvolution2D) conf.getLayer()));
        this.pointwise = ConvolutionForm.pointwiseOf((SeparableConvolution2D) conf.getLayer());
        this.pointKernels = new ProductCache(context);
    }

    private ProductKernels depthKernels() {
        return kernels(false, false, null);
    }

    private ProductKernels pointKernels(INDArray between) {
        Layout layout = Layout.channelsLast(dataType, between.shape());
        return pointKernels.get(
                layout,
                copies ->
                        pointwise.kernels(context, layerId(), copies, layout, hasBias(), addsASum(), fusedFunction()));
    }

    @Override
    public boolean isRepeatable() {
        return false;
    }

    @Override
    Parameters inOrder(Map<String, INDArray> table) {
        return new Parameters(table.get(POINT), table.get(BIAS));
    }

    @Override
    Gradient gradients() {
        Gradient gradient = super.gradients();
        gradient.setGradientFor(POINT, gradientViews.get(POINT), 'c');
        return gradient;
    }

    private INDArray between(
            ProductKernels kernels,
            INDArray x,
            INDArray weights,
            boolean training,
            ArrayType working,
            LayerWorkspaceMgr workspaceMgr) {
        kernels.takeWeights(weights, training);
        INDArray between = Workspaces.channelsLast(workspaceMgr, working, dataType, kernels.outputShape());
        kernels.forward(x, null, between);
        return between;
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        Map<String, INDArray> drawn = drawn(training, false, workspaceMgr);
        ProductKernels depth = depthKernels();
        INDArray x = ready(ArrayType.FF_WORKING_MEM, workspaceMgr);
        INDArray between = between(depth, x, drawn.get(WEIGHTS), training, ArrayType.FF_WORKING_MEM, workspaceMgr);
        return forward(pointKernels(between), between, inOrder(drawn), training, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        Map<String, INDArray> drawn = drawn(true, true, workspaceMgr);
        INDArray weights = drawn.get(WEIGHTS);
        ProductKernels depth = depthKernels();
        INDArray x = ready(ArrayType.BP_WORKING_MEM, workspaceMgr);
        INDArray between = between(depth, x, weights, true, ArrayType.BP_WORKING_MEM, workspaceMgr);
        ProductKernels point = pointKernels(between);
        INDArray delta = delta(point, between, inOrder(drawn), epsilon, workspaceMgr);
        Parameters pointGradients = inOrder(gradientViews);
        point.backwardWeights(between, delta, pointGradients.weights(), pointGradients.bias());
        INDArray betweenGradient =
                Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, dataType, between.shape());
        point.backwardData(delta, drawn.get(POINT), betweenGradient);
        INDArray next = backward(
                depth,
                x,
                betweenGradient,
                new Parameters(weights, null),
                new Parameters(gradientViews.get(WEIGHTS), null),
                workspaceMgr);
        clearNoiseWeightParams();
        return new Pair<>(gradients(), next);
    }

    @Override
    public Twin.Weights keptWeights() {
        return OneDnnTwin.both(super.keptWeights(), pointKernels.weights());
    }

    @Override
    public void close() {
        super.close();
        pointKernels.close();
    }
}
