package org.dl4jamp.onednn.linear;

import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution2D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.dl4jamp.onednn.linear.ProductKernels.Parameters;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A convolution along one, two or three axes, a deconvolution or a depthwise convolution. The input is
 * {@code [minibatch, nIn, ...]} or {@code [minibatch, ..., nIn]}.
 */
class ConvolutionTwin extends ProductTwin<ConvolutionLayer> implements Twin.Repeatable {
    private static final long serialVersionUID = 1L;

    private final transient ConvolutionForm form;

    ConvolutionTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        this(conf, type, context, ConvolutionForm.of((ConvolutionLayer) conf.getLayer()));
    }

    ConvolutionTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context, ConvolutionForm form) {
        super(conf, type, context, form.channels());
        this.form = form;
    }

    @Override
    ProductKernels kernels(Parameters parameters) {
        return kernels(hasBias(), addsASum(), fusedFunction());
    }

    final ProductKernels kernels(boolean bias, boolean sum, Eltwise function) {
        INDArray given = form.channels().toSecond(input);
        Layout layout = Layout.channelsLast(dataType, given.shape());
        return cache.get(layout, copies -> {
            if (!form.matches(given)) {
                Rejection.of(conf, paramsFlattened, index, input);
            }
            if (!form.fits(given)) {
                Rejection.unlessDl4jTakes(conf, paramsFlattened, index, input);
            }
            return form.kernels(context, layerId(), copies, layout, bias, sum, function);
        });
    }

    @Override
    void maskOutput(INDArray output) {
        if (layerConf() instanceof Convolution1DLayer) {
            form.window().mask(maskArray, form.channels().toSecond(output));
            // DL4J's backward pass goes through masked steps, too, whose output isn't there any more.
            keptOutput = null;
        }
    }

    @Override
    void maskSums(INDArray sums) {
        // DL4J's layers leave them as they are.
    }

    /**
     * DL4J's convolution of images has its channels second there, whatever the format: softmax isn't of the channels.
     */
    @Override
    ChannelAxis channelsOfDerivative() {
        Class<?> type = layerConf().getClass();
        return type == ConvolutionLayer.class || type == Convolution2D.class ? ChannelAxis.SECOND : form.channels();
    }

    @Override
    public boolean isRepeatable() {
        return hasFusedFunction();
    }

    @Override
    Gradient gradients() {
        Gradient gradient = super.gradients();
        gradient.setGradientFor(WEIGHTS, gradientViews.get(WEIGHTS), 'c');
        return gradient;
    }

    /** DL4J's layers hand a mask on without keeping it. */
    @Override
    public Pair<INDArray, MaskState> feedForwardMaskArray(INDArray mask, MaskState state, int minibatchSize) {
        return new Pair<>(mask, state);
    }
}
