package org.dl4jamp.onednn.linear;

import java.util.function.Function;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.layers.BaseLayer;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.LentGradients;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OutputKeeper;
import org.dl4jamp.onednn.weights.KeptWeights;
import org.dl4jamp.twin.OptionalInputGradient;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A layer with a convolution over its input. */
abstract class ConvolutionTwinBase<C extends ConvolutionLayer> extends BaseLayer<C>
        implements OptionalInputGradient,
                OutputKeeper,
                LentGradients.Lender,
                GroupHead,
                KeptWeights.Keeper,
                AutoCloseable {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient ConvolutionForm form;
    private final transient ProductPasses passes;
    private final transient ProductCache kernels = new ProductCache();

    ConvolutionTwinBase(
            NeuralNetConfiguration conf, DataType type, OneDnnContext context, Function<C, ConvolutionForm> form) {
        super(conf, type);
        this.context = context;
        this.form = form.apply(layerConf());
        this.passes = new ProductPasses(
                context, type, this.form.channels(), layerConf().getActivationFn());
    }

    final OneDnnContext context() {
        return context;
    }

    @Override
    public final ProductPasses passes() {
        return passes;
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

    /** Returns the kernels of the convolution over the input that has been set. */
    final ProductKernels kernels(boolean bias, boolean sum, Eltwise function) {
        INDArray given = form.channels().toSecond(input);
        Layout layout = Layout.channelsLast(dataType, given.shape());
        return kernels.get(layout, copies -> {
            if (!form.matches(given)) {
                Rejection.of(conf, paramsFlattened, index, input);
            }
            if (!form.fits(given)) {
                Rejection.unlessDl4jTakes(conf, paramsFlattened, index, input);
            }
            if (!form.hasKernels(given)) {
                Rejection.of(conf, paramsFlattened, index, input);
            }
            return form.kernels(context, layerId(), copies, layout, bias, sum, function);
        });
    }

    /** DL4J's layers hand a mask on without keeping it. */
    @Override
    public Pair<INDArray, MaskState> feedForwardMaskArray(INDArray mask, MaskState state, int minibatchSize) {
        return new Pair<>(mask, state);
    }

    @Override
    public boolean hasBias() {
        return layerConf().hasBias();
    }

    @Override
    public boolean isPretrainLayer() {
        return false;
    }

    @Override
    public void clear() {
        super.clear();
        passes.clear();
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
