package org.dl4jamp.onednn.twin;

import java.util.Optional;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.misc.ElementWiseMultiplicationLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.BaseLayer;
import org.deeplearning4j.nn.params.ElementWiseParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.activation.ActivationFunction;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An element-wise multiplication: {@code function(x * weight + bias)} of vectors {@code [minibatch, size]}, with a
 * weight and a bias for each of an example's numbers. Parameters and arithmetic are FP32. DL4J's layer takes no notice
 * of weight noise, and neither does this one.
 */
final class ScaleTwin extends BaseLayer<ElementWiseMultiplicationLayer> implements OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private static final String WEIGHTS = ElementWiseParamInitializer.WEIGHT_KEY;
    private static final String BIAS = ElementWiseParamInitializer.BIAS_KEY;

    private final transient OneDnnContext context;
    private final transient ActivationFunction function;
    private final transient KernelCache<Layout, ScaleKernels> kernels = new KernelCache<>(KernelCache.SHAPES);

    ScaleTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.function = new ActivationFunction(context, layerConf().getActivationFn());
    }

    /**
     * DL4J's layer takes its input before it applies dropout to it. The forward pass has then none, where it isn't in
     * place, and the backward pass takes the function's derivative at other sums.
     */
    static Optional<String> without(ElementWiseMultiplicationLayer layer) {
        return layer.getIDropout() == null
                ? LayerKernels.COVERED
                : Optional.of("DL4J applies dropout of element-wise multiplications in the backward pass only");
    }

    private ScaleKernels kernels() {
        return kernels.get(Layout.dense(dataType, input.shape()), () -> {
            long size = getParam(WEIGHTS).length();
            if (input.rank() != 2 || input.size(1) != size) {
                Rejection.of(conf, paramsFlattened, index, input);
            }
            return ScaleKernels.make(context, layerId(), function.eltwise(), dataType, input.size(0), size);
        });
    }

    private INDArray ready(INDArray array, DataType type, ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        return context.copies().channelsLast(array, type, workspaceMgr, working);
    }

    private INDArray floats(ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        return Workspaces.dense(workspaceMgr, working, DataType.FLOAT, input.shape());
    }

    private INDArray sums(ScaleKernels ours, ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        INDArray sums = floats(working, workspaceMgr);
        INDArray x = ready(input, DataType.FLOAT, working, workspaceMgr);
        ours.sums(x, getParam(WEIGHTS), getParam(BIAS), sums);
        return masked(sums);
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
        ScaleKernels ours = kernels();
        if (ours.isFused() && maskArray == null) {
            INDArray x = ready(input, dataType, ArrayType.FF_WORKING_MEM, workspaceMgr);
            INDArray output = Workspaces.dense(workspaceMgr, ArrayType.ACTIVATIONS, dataType, x.shape());
            ours.forward(x, getParam(WEIGHTS), getParam(BIAS), output);
            return output;
        }
        return masked(function.forward(
                layerId(),
                sums(ours, ArrayType.FF_WORKING_MEM, workspaceMgr),
                ChannelAxis.SECOND,
                training,
                workspaceMgr,
                shape -> Workspaces.dense(workspaceMgr, ArrayType.ACTIVATIONS, dataType, shape)));
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        ScaleKernels ours = kernels();
        if (function.whole() == null) {
            Rejection.ofEpsilon(layerId(), epsilon, input.shape());
        }
        INDArray x = ready(input, dataType, ArrayType.BP_WORKING_MEM, workspaceMgr);
        INDArray delta = delta(ours, epsilon, workspaceMgr);
        INDArray weightGradient = gradientViews.get(WEIGHTS);
        INDArray biasGradient = gradientViews.get(BIAS);
        INDArray working = floats(ArrayType.BP_WORKING_MEM, workspaceMgr);
        ours.backwardParameters(x, delta, working, weightGradient, biasGradient);
        INDArray next = Workspaces.dense(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, x.shape());
        if (dataType == DataType.FLOAT) {
            ours.backwardInput(delta, getParam(WEIGHTS), next);
        } else {
            ours.backwardInput(delta, getParam(WEIGHTS), working);
            context.copies().copy(working, next);
        }
        Gradient gradient = new DefaultGradient();
        gradient.setGradientFor(WEIGHTS, weightGradient);
        gradient.setGradientFor(BIAS, biasGradient);
        return new Pair<>(gradient, next);
    }

    /** Returns the gradient of the sums, FP32. */
    private INDArray delta(ScaleKernels ours, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        if (function.isIdentity() && maskArray == null) {
            return ready(epsilon, DataType.FLOAT, ArrayType.BP_WORKING_MEM, workspaceMgr);
        }
        INDArray delta = floats(ArrayType.BP_WORKING_MEM, workspaceMgr);
        INDArray sums = sums(ours, ArrayType.BP_WORKING_MEM, workspaceMgr);
        function.backward(layerId(), sums, epsilon, ChannelAxis.SECOND, delta, workspaceMgr);
        return masked(delta);
    }

    @Override
    public boolean isPretrainLayer() {
        return false;
    }

    @Override
    public void close() {
        function.close();
        kernels.close();
    }
}
