package org.dl4jamp.onednn.linear;

import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.BaseLayer;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.LentGradients;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.GroupSum;
import org.dl4jamp.onednn.twin.OutputKeeper;
import org.dl4jamp.onednn.weights.KeptWeights;
import org.dl4jamp.twin.OptionalInputGradient;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A layer that multiplies by weights. It rounds the FP32 master weights itself. Gradients of the parameters are FP32.
 *
 * @param <C> the layer's configuration
 */
public abstract class ProductTwin<C extends FeedForwardLayer> extends BaseLayer<C>
        implements OptionalInputGradient, OutputKeeper, LentGradients.Lender, KeptWeights.Keeper, AutoCloseable {
    private static final long serialVersionUID = 1L;

    static final String WEIGHTS = DefaultParamInitializer.WEIGHT_KEY;
    static final String BIAS = DefaultParamInitializer.BIAS_KEY;

    final transient ProductPasses passes;
    final transient ProductCache cache;

    ProductTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context, ChannelAxis channels) {
        super(conf, type);
        this.passes = new ProductPasses(context, type, channels, layerConf().getActivationFn());
        this.cache = new ProductCache(context);
    }

    /** Returns the kernels for the input that has been set. */
    abstract ProductKernels kernels(ProductPasses.Parameters parameters);

    /** Returns the parameters, or views of their gradients, in the kernels' order of axes. */
    ProductPasses.Parameters inOrder(Map<String, INDArray> table) {
        return new ProductPasses.Parameters(table.get(WEIGHTS), table.get(BIAS));
    }

    /** Applies the mask to the output. */
    abstract void maskOutput(INDArray output);

    /** Applies the mask to the gradient of the sums. */
    abstract void maskDelta(INDArray delta);

    /** Returns the gradients of the parameters, as DL4J's layer does. */
    abstract Gradient gradients();

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        ProductPasses.Parameters parameters = inOrder(params);
        ProductKernels ours = kernels(parameters);
        INDArray x = passes.ready(input, ArrayType.FF_WORKING_MEM, workspaceMgr);
        INDArray output = passes.forward(ours, x, parameters, training, workspaceMgr);
        if (maskArray != null) {
            maskOutput(output);
        }
        return output;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        ProductPasses.Parameters parameters = inOrder(params);
        ProductKernels ours = kernels(parameters);
        INDArray x = passes.ready(input, ArrayType.BP_WORKING_MEM, workspaceMgr);
        INDArray delta = passes.delta(ours, x, parameters, epsilon, workspaceMgr);
        if (maskArray != null) {
            maskDelta(delta);
        }
        INDArray next = passes.backward(ours, x, delta, parameters, inOrder(gradientViews), workspaceMgr);
        return new Pair<>(gradients(), next);
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

    /**
     * Has it compute a group of layers in inference.
     *
     * @param sum the summand before the activation function; null for none
     * @param place number of the memory where the result may go
     */
    public void lead(GroupSum sum, Optional<Integer> place) {
        passes.lead(sum, place);
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
        return cache.weights();
    }

    @Override
    public void close() {
        passes.close();
        cache.close();
    }
}
