package org.dl4jamp.onednn.linear;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.feedforward.dense.DenseLayer;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.LentGradients;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OutputKeeper;
import org.dl4jamp.onednn.weights.KeptWeights;
import org.dl4jamp.twin.OptionalInputGradient;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A dense layer of {@code [minibatch, nIn]} over the FP32 master weights, which it rounds itself. Gradients of the
 * parameters are FP32.
 */
final class DenseTwin extends DenseLayer
        implements OptionalInputGradient,
                OutputKeeper,
                LentGradients.Lender,
                GroupHead,
                KeptWeights.Keeper,
                AutoCloseable {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient ProductPasses passes;
    private final transient ProductCache kernels = new ProductCache();

    DenseTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.passes =
                new ProductPasses(context, type, ChannelAxis.SECOND, layerConf().getActivationFn());
    }

    @Override
    public void spareInputGradient(boolean unwanted) {
        passes.spareInputGradient(unwanted);
    }

    @Override
    public void lendInputGradient() {
        passes.lendInputGradient();
    }

    @Override
    public void outputStays() {
        passes.outputStays();
    }

    private ProductPasses.Parameters parameters() {
        return new ProductPasses.Parameters(
                Views.transposed(getParam(DefaultParamInitializer.WEIGHT_KEY)),
                hasBias() ? getParam(DefaultParamInitializer.BIAS_KEY) : null);
    }

    private ProductKernels kernels() {
        INDArray weights = getParam(DefaultParamInitializer.WEIGHT_KEY);
        if (input.rank() != 2 || input.size(1) != weights.size(0)) {
            Rejection.of(conf, paramsFlattened, index, input);
        }
        Layout rows = Layout.dense(dataType, input.shape());
        return kernels.get(
                rows,
                copies -> ProductKernels.make(
                        context,
                        new DensePrimitives(),
                        copies,
                        new ProductKernels.Task(
                                layerId(),
                                rows,
                                Layout.of(weights.transpose()),
                                hasBias(),
                                Layout.dense(dataType, input.size(0), weights.size(1)),
                                passes.addsASum(),
                                passes.fusedFunction())));
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        ProductKernels ours = kernels();
        INDArray x = passes.inputForward(input, workspaceMgr);
        INDArray output = passes.forward(ours, x, parameters(), training, workspaceMgr);
        if (maskArray != null) {
            applyMask(output);
        }
        return output;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        ProductKernels ours = kernels();
        INDArray x = passes.inputBackward(input, workspaceMgr);
        INDArray delta = passes.delta(ours, x, parameters(), epsilon, workspaceMgr);
        if (maskArray != null) {
            applyMask(delta);
        }
        INDArray weightGradient = gradientViews.get(DefaultParamInitializer.WEIGHT_KEY);
        INDArray biasGradient = hasBias() ? gradientViews.get(DefaultParamInitializer.BIAS_KEY) : null;
        INDArray next = passes.backward(
                ours,
                x,
                delta,
                parameters(),
                new ProductPasses.Parameters(weightGradient.transpose(), biasGradient),
                workspaceMgr);
        Gradient gradient = new DefaultGradient();
        if (hasBias()) {
            gradient.setGradientFor(DefaultParamInitializer.BIAS_KEY, biasGradient);
        }
        gradient.setGradientFor(DefaultParamInitializer.WEIGHT_KEY, weightGradient);
        return new Pair<>(gradient, next);
    }

    @Override
    public void clear() {
        super.clear();
        passes.clear();
    }

    @Override
    public ProductPasses passes() {
        return passes;
    }

    @Override
    public KeptWeights keptWeights() {
        return kernels.weights();
    }

    @Override
    public void close() {
        passes.close();
        kernels.close();
    }
}
