package org.dl4jamp.onednn.linear;

import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.feedforward.dense.DenseLayer;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.activation.ActivationFunction;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.normalization.LayerNormKernels;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.Noise;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A dense layer with layer normalization: product, normalization of each example with gain and bias, activation
 * function. All but the product is FP32, and is computed again for the backward pass.
 */
final class NormalizedDenseTwin extends DenseLayer implements OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private static final String WEIGHTS = DefaultParamInitializer.WEIGHT_KEY;
    private static final String BIAS = DefaultParamInitializer.BIAS_KEY;
    private static final String GAIN = DefaultParamInitializer.GAIN_KEY;

    private final transient OneDnnContext context;
    private final transient ActivationFunction function;
    private final transient ProductCache products;
    private final transient KernelCache<Layout, LayerNormKernels> norms = new KernelCache<>(KernelCache.SHAPES);

    NormalizedDenseTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.products = new ProductCache(context);
        this.function = new ActivationFunction(context, layerConf().getActivationFn());
    }

    private ProductKernels products() {
        INDArray weights = Views.transposed(getParam(WEIGHTS));
        if (input.rank() != 2 || input.size(1) != weights.size(1)) {
            Rejection.of(conf, paramsFlattened, index, input);
        }
        ProductKernels.Parameters withoutBias = new ProductKernels.Parameters(weights, null);
        return products.dense(layerId(), dataType, input, withoutBias, false, null);
    }

    private LayerNormKernels norms(INDArray sums) {
        return norms.get(
                Layout.of(sums),
                () -> LayerNormKernels.make(context, layerId(), sums.size(0), sums.size(1), hasBias()));
    }

    private INDArray floats(INDArray like, ArrayType place, LayerWorkspaceMgr workspaceMgr) {
        return Workspaces.dense(workspaceMgr, place, DataType.FLOAT, like.shape());
    }

    private Map<String, INDArray> drawn(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return Noise.drawn(layerConf(), params, name -> getParamWithNoise(name, training, workspaceMgr), false);
    }

    private INDArray sums(
            ProductKernels kernels,
            INDArray x,
            INDArray weights,
            boolean training,
            ArrayType working,
            LayerWorkspaceMgr workspaceMgr) {
        kernels.takeWeights(Views.transposed(weights), training);
        INDArray sums = Workspaces.dense(workspaceMgr, working, DataType.FLOAT, kernels.outputShape());
        kernels.forwardInFloat(x, null, sums);
        return sums;
    }

    private INDArray normalized(INDArray sums, INDArray bias, ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        INDArray normalized = floats(sums, working, workspaceMgr);
        norms(sums).forward(sums, getParam(GAIN), bias, normalized);
        return masked(normalized);
    }

    private INDArray masked(INDArray array) {
        if (maskArray != null) {
            applyMask(array);
        }
        return array;
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        Map<String, INDArray> drawn = drawn(training, workspaceMgr);
        ProductKernels kernels = products();
        INDArray x = context.copies().channelsLast(input, dataType, workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray sums = sums(kernels, x, drawn.get(WEIGHTS), training, ArrayType.FF_WORKING_MEM, workspaceMgr);
        INDArray normalized = normalized(sums, drawn.get(BIAS), ArrayType.FF_WORKING_MEM, workspaceMgr);
        return masked(function.forward(
                layerId(),
                normalized,
                ChannelAxis.SECOND,
                training,
                workspaceMgr,
                shape -> Workspaces.dense(workspaceMgr, ArrayType.ACTIVATIONS, dataType, shape)));
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        Map<String, INDArray> drawn = drawn(true, workspaceMgr);
        ProductKernels kernels = products();
        if (function.whole() == null) {
            Rejection.ofEpsilon(layerId(), epsilon, kernels.outputShape());
        }
        INDArray x = context.copies().channelsLast(input, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray sums = sums(kernels, x, drawn.get(WEIGHTS), true, ArrayType.BP_WORKING_MEM, workspaceMgr);
        INDArray normalized = normalized(sums, drawn.get(BIAS), ArrayType.BP_WORKING_MEM, workspaceMgr);
        INDArray delta = floats(sums, ArrayType.BP_WORKING_MEM, workspaceMgr);
        function.backward(layerId(), normalized, epsilon, ChannelAxis.SECOND, delta, workspaceMgr);
        masked(delta);
        Gradient gradient = new DefaultGradient();
        INDArray biasGradient = hasBias() ? gradientViews.get(BIAS) : null;
        INDArray gainGradient = gradientViews.get(GAIN);
        norms(sums).backward(sums, getParam(GAIN), delta, gainGradient, biasGradient, delta);
        if (hasBias()) {
            gradient.setGradientFor(BIAS, biasGradient);
        }
        gradient.setGradientFor(GAIN, gainGradient);
        INDArray rounded = context.copies().channelsLast(delta, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray weightGradient = gradientViews.get(WEIGHTS);
        kernels.backwardWeights(x, rounded, weightGradient.transpose(), null);
        gradient.setGradientFor(WEIGHTS, weightGradient);
        INDArray next = Workspaces.dense(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, x.shape());
        kernels.backwardData(rounded, Views.transposed(drawn.get(WEIGHTS)), next);
        clearNoiseWeightParams();
        return new Pair<>(gradient, next);
    }

    @Override
    public Twin.Weights keptWeights() {
        return products.weights();
    }

    @Override
    public void close() {
        function.close();
        products.close();
        norms.close();
    }
}
