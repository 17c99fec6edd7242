package org.dl4jamp.onednn.linear;

import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.BaseLayer;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.activation.ActivationFunction;
import org.dl4jamp.onednn.linear.ProductKernels.Parameters;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.LentGradients;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.ResultPlace;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.GroupSum;
import org.dl4jamp.onednn.twin.Noise;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A layer that multiplies by weights: product, bias, activation function. It rounds the FP32 master weights itself, and
 * gradients of the parameters are FP32. A function that oneDNN has is fused into its product. Any other is computed by
 * its own class, on the sums in FP32, and rounded once.
 *
 * @param <C> the layer's configuration
 */
public abstract class ProductTwin<C extends FeedForwardLayer> extends BaseLayer<C>
        implements Twin.OptionalInputGradient, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    static final String WEIGHTS = DefaultParamInitializer.WEIGHT_KEY;
    static final String BIAS = DefaultParamInitializer.BIAS_KEY;

    final transient OneDnnContext context;
    final transient ProductCache cache;
    private final transient ChannelAxis channels;
    private final transient ActivationFunction function;
    private final transient LentGradients.OfInput inputGradient;
    private final transient LedGroup group;
    /** The output of the last forward pass; null if the backward pass has to compute it again. */
    transient INDArray keptOutput;

    private transient boolean outputStays;
    private transient boolean inputGradientUnwanted;

    ProductTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context, ChannelAxis channels) {
        super(conf, type);
        this.context = context;
        this.cache = new ProductCache(context);
        this.channels = channels;
        this.function = new ActivationFunction(context, layerConf().getActivationFn());
        this.inputGradient = context.lentGradients().ofInput();
        this.group = new LedGroup(context, type, channels);
    }

    /** Returns the kernels for the input that has been set. */
    abstract ProductKernels kernels(Parameters parameters);

    /** Returns the parameters, or views of their gradients, in the kernels' order of axes. */
    Parameters inOrder(Map<String, INDArray> table) {
        return new Parameters(table.get(WEIGHTS), table.get(BIAS));
    }

    final Map<String, INDArray> drawn(boolean training, boolean backward, LayerWorkspaceMgr workspaceMgr) {
        return Noise.drawn(layerConf(), params, name -> getParamWithNoise(name, training, workspaceMgr), backward);
    }

    void maskOutput(INDArray output) {
        applyMask(output);
    }

    /** Masks the sums before a function of whole arrays, or their gradient. */
    void maskSums(INDArray sums) {
        applyMask(sums);
    }

    /** Returns the axis of the channels in the arrays of which DL4J's layer computes the function's derivative. */
    ChannelAxis channelsOfDerivative() {
        return channels;
    }

    /** Returns the gradients of the parameters, as DL4J's layer does. */
    Gradient gradients() {
        Gradient gradient = new DefaultGradient();
        if (hasBias()) {
            gradient.setGradientFor(BIAS, gradientViews.get(BIAS));
        }
        gradient.setGradientFor(WEIGHTS, gradientViews.get(WEIGHTS));
        return gradient;
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        Parameters parameters = inOrder(drawn(training, false, workspaceMgr));
        ProductKernels ours = kernels(parameters);
        INDArray x = ready(ArrayType.FF_WORKING_MEM, workspaceMgr);
        INDArray output = forward(ours, x, parameters, training, workspaceMgr);
        if (maskArray != null) {
            maskOutput(output);
        }
        return output;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        Parameters parameters = inOrder(drawn(true, true, workspaceMgr));
        ProductKernels ours = kernels(parameters);
        INDArray x = ready(ArrayType.BP_WORKING_MEM, workspaceMgr);
        INDArray delta = delta(ours, x, parameters, epsilon, workspaceMgr);
        if (maskArray != null) {
            maskSums(delta);
        }
        INDArray next = backward(ours, x, delta, parameters, inOrder(gradientViews), workspaceMgr);
        clearNoiseWeightParams();
        return new Pair<>(gradients(), next);
    }

    /** Returns whether the product's kernels are to add something. */
    final boolean addsASum() {
        return group.adds();
    }

    /** Returns whether the product's kernels apply the activation function. */
    final boolean hasFusedFunction() {
        return function.eltwise() != null;
    }

    /** Returns the activation function that the product's kernels are to apply; null if they aren't to. */
    final Eltwise fusedFunction() {
        return function.isIdentity() ? null : function.eltwise();
    }

    /** Returns the input in the type and order of the kernels. */
    final INDArray ready(ArrayType working, LayerWorkspaceMgr workspaceMgr) {
        return context.copies().channelsLast(channels.toSecond(input), dataType, workspaceMgr, working);
    }

    /** Runs the forward pass; {@code x} is the input in the type and order of the kernels. */
    final INDArray forward(
            ProductKernels kernels,
            INDArray x,
            Parameters parameters,
            boolean training,
            LayerWorkspaceMgr workspaceMgr) {
        keptOutput = null;
        kernels.takeWeights(parameters.weights(), training);
        if (function.eltwise() == null) {
            INDArray z = sums(kernels, x, parameters, ArrayType.FF_WORKING_MEM, workspaceMgr);
            return channels.fromSecond(function.forward(
                    kernels.layer(), z, channels, training, workspaceMgr, shape -> group.output(shape, workspaceMgr)));
        }
        if (group.adds()) {
            return channels.fromSecond(group.forward(kernels, x, parameters.bias(), workspaceMgr));
        }
        INDArray output = group.output(kernels.outputShape(), workspaceMgr);
        kernels.forward(x, parameters.bias(), output);
        keptOutput = training && canKeep(workspaceMgr) ? output : null;
        return channels.fromSecond(output);
    }

    private INDArray sums(
            ProductKernels kernels,
            INDArray x,
            Parameters parameters,
            ArrayType working,
            LayerWorkspaceMgr workspaceMgr) {
        INDArray sums = Workspaces.channelsLast(workspaceMgr, working, DataType.FLOAT, kernels.outputShape());
        kernels.forwardInFloat(x, parameters.bias(), sums);
        if (maskArray != null && function.whole() != null) {
            maskSums(sums);
        }
        return sums;
    }

    /** Returns whether the output stays until the backward pass. In BFLOAT16 other code has copies. */
    private boolean canKeep(LayerWorkspaceMgr workspaceMgr) {
        return function.isRelu()
                && (dataType == DataType.BFLOAT16 || outputStays)
                && Workspaces.staysUntilBackward(workspaceMgr);
    }

    /**
     * Returns the gradient of the sums before the activation function, in the type and order of the kernels.
     *
     * @param x the input in the type and order of the kernels
     */
    final INDArray delta(
            ProductKernels kernels,
            INDArray x,
            Parameters parameters,
            INDArray epsilon,
            LayerWorkspaceMgr workspaceMgr) {
        INDArray given = channels.toSecond(epsilon);
        if (function.whole() == null) {
            Rejection.ofEpsilon(kernels.layer(), given, kernels.outputShape());
        }
        if (function.isIdentity()) {
            return context.copies().channelsLast(given, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
        }
        INDArray delta =
                Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, dataType, kernels.outputShape());
        if (keptOutput != null) {
            INDArray above = context.copies().channelsLast(given, dataType, workspaceMgr, ArrayType.BP_WORKING_MEM);
            // ReLU is positive where its input was.
            function.backwardFrom(kernels.layer(), keptOutput, above, delta);
            keptOutput = null;
            return delta;
        }
        kernels.takeWeights(parameters.weights(), true);
        INDArray z = sums(kernels, x, parameters, ArrayType.BP_WORKING_MEM, workspaceMgr);
        function.backward(kernels.layer(), z, given, channelsOfDerivative(), delta, workspaceMgr);
        return delta;
    }

    /**
     * Writes the gradients of the parameters into their views, and returns that of the input, null if it's unused.
     *
     * @param x the input in the type and order of the kernels
     */
    final INDArray backward(
            ProductKernels kernels,
            INDArray x,
            INDArray delta,
            Parameters parameters,
            Parameters gradients,
            LayerWorkspaceMgr workspaceMgr) {
        kernels.backwardWeights(x, delta, gradients.weights(), gradients.bias());
        if (inputGradientUnwanted) {
            return null;
        }
        INDArray next = inputGradient.create(workspaceMgr, dataType, x.shape());
        kernels.backwardData(delta, parameters.weights(), next);
        return channels.fromSecond(next);
    }

    @Override
    public void spareInputGradient(boolean unwanted) {
        inputGradientUnwanted = unwanted;
    }

    @Override
    public void lendInputGradient() {
        inputGradient.lend();
    }

    @Override
    public void outputStays() {
        outputStays = true;
    }

    /** Makes the forward pass compute a group of layers in inference, with a summand; null for none. */
    public void lead(GroupSum added) {
        group.lead(added);
    }

    @Override
    public void placeOutput(ResultPlace place) {
        group.placeOutput(place);
    }

    @Override
    public boolean hasBias() {
        return params.containsKey(BIAS);
    }

    @Override
    public boolean isPretrainLayer() {
        return false;
    }

    @Override
    public void clear() {
        super.clear();
        keptOutput = null;
    }

    @Override
    public Twin.Weights keptWeights() {
        return cache.weights();
    }

    @Override
    public void close() {
        keptOutput = null;
        function.close();
        cache.close();
    }
}
