package org.dl4jamp.onednn;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.params.ConvolutionParamInitializer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.layer.SparingTwin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A two-dimensional convolution of {@code [minibatch, nIn, height, width]} over the FP32 master weights, which it rounds itself. Gradients of
 * the parameters are FP32.
 */
final class ConvolutionTwin extends ConvolutionLayer implements SparingTwin, OutputKeeper, AutoCloseable {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient ProductPasses passes;
    private final transient KernelCache<Layout, ProductKernels> kernels = new KernelCache<>(Twins.SHAPES);

    ConvolutionTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.helper = null;
        this.context = context;
        this.passes = new ProductPasses(context, type, layerConf().getActivationFn());
    }

    @Override
    public void spareInputGradient(boolean unwanted) {
        passes.spareInputGradient(unwanted);
    }

    @Override
    public void outputStays() {
        passes.outputStays();
    }

    private ProductPasses.Parameters parameters() {
        return new ProductPasses.Parameters(
                getParam(ConvolutionParamInitializer.WEIGHT_KEY),
                hasBias() ? getParam(ConvolutionParamInitializer.BIAS_KEY) : null);
    }

    private ProductKernels kernels() {
        INDArray weights = getParam(ConvolutionParamInitializer.WEIGHT_KEY);
        validateInputRank();
        validateInputDepth(weights.size(1));
        Layout images = Layout.channelsLast(dataType, input.shape());
        return kernels.get(images, () -> {
            WindowGeometry geometry = WindowGeometry.of(
                    input,
                    layerConf().getKernelSize(),
                    layerConf().getStride(),
                    layerConf().getPadding(),
                    layerConf().getDilation(),
                    convolutionMode);
            long[] out = geometry.output();
            Layout output = Layout.channelsLast(dataType, input.size(0), weights.size(0), out[0], out[1]);
            return ProductKernels.make(
                    context,
                    new ConvolutionPrimitives(geometry),
                    new ProductKernels.Task(
                            layerId(), images, Layout.of(weights), hasBias(), output, passes.appliesRelu()));
        });
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        return passes.forward(kernels(), input, parameters(), training, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        ProductKernels ours = kernels();
        INDArray x = passes.input(input, workspaceMgr);
        INDArray delta = passes.delta(ours, x, parameters(), epsilon, workspaceMgr);
        INDArray weightGradient = gradientViews.get(ConvolutionParamInitializer.WEIGHT_KEY);
        INDArray biasGradient = hasBias() ? gradientViews.get(ConvolutionParamInitializer.BIAS_KEY) : null;
        INDArray next = passes.backward(
                ours, x, delta, parameters(), new ProductPasses.Parameters(weightGradient, biasGradient), workspaceMgr);
        Gradient gradient = new DefaultGradient();
        if (hasBias()) {
            gradient.setGradientFor(ConvolutionParamInitializer.BIAS_KEY, biasGradient);
        }
        gradient.setGradientFor(ConvolutionParamInitializer.WEIGHT_KEY, weightGradient, 'c');
        return new Pair<>(gradient, next);
    }

    @Override
    public void clear() {
        super.clear();
        passes.clear();
    }

    @Override
    public void close() {
        passes.close();
        kernels.close();
    }
}
