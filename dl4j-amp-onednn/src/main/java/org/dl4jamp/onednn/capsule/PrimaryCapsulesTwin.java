package org.dl4jamp.onednn.capsule;

import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.PrimaryCapsules;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.onednn.activation.ActivationFunction;
import org.dl4jamp.onednn.linear.ConvolutionForm;
import org.dl4jamp.onednn.linear.ProductCache;
import org.dl4jamp.onednn.linear.ProductKernels;
import org.dl4jamp.onednn.linear.ProductKernels.Parameters;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationLReLU;
import org.nd4j.linalg.activations.impl.ActivationReLU;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The first capsules, {@code [minibatch, capsules, dimensions]}, of images {@code [minibatch, nIn, height, width]}: a
 * convolution, and the lengths of its FP32 sums made less than 1. As in DL4J a capsule's numbers follow each other in
 * order {@code c}. Gradients have the factor of DL4J's SameDiff layers.
 */
final class PrimaryCapsulesTwin extends SameDiffLayer implements OneDnnTwin, Twin.OptionalInputGradient {
    private static final long serialVersionUID = 1L;

    private static final String WEIGHTS = "weight";
    private static final String BIAS = "bias";

    private final transient OneDnnContext context;
    private final transient PrimaryCapsules layer;
    private final transient ConvolutionForm form;
    private final transient ActivationFunction function;
    private final transient ProductCache cache;
    private final transient Squash squash;
    private boolean inputGradientUnwanted;

    PrimaryCapsulesTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.layer = (PrimaryCapsules) conf.getLayer();
        this.form = ConvolutionForm.of(layer);
        this.function = new ActivationFunction(context, function(layer));
        this.cache = new ProductCache(context);
        this.squash = new Squash(layer.getCapsuleDimensions());
    }

    private static IActivation function(PrimaryCapsules layer) {
        if (!layer.isUseRelu()) {
            return new ActivationIdentity();
        }
        return layer.getLeak() == 0 ? new ActivationReLU() : new ActivationLReLU(layer.getLeak());
    }

    private static Parameters parameters(Map<String, INDArray> table) {
        return new Parameters(table.get(WEIGHTS), table.get(BIAS));
    }

    private ProductKernels kernels() {
        Layout layout = Layout.channelsLast(dataType, input.shape());
        return cache.get(layout, copies -> {
            if (!form.matches(input) || !form.fits(input)) {
                Rejection.of(conf, params, index, input);
            }
            ProductKernels kernels = form.kernels(context, layerId(), copies, layout, layer.isHasBias(), false, null);
            if (elements(kernels) != (long) layer.getCapsules() * layer.getCapsuleDimensions()) {
                Rejection.of(conf, params, index, input);
            }
            return kernels;
        });
    }

    /** Returns how many numbers the convolution makes of an example. */
    private static long elements(ProductKernels kernels) {
        long[] shape = kernels.outputShape();
        return shape[1] * shape[2] * shape[3];
    }

    private INDArray ready(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return context.copies().channelsLast(input, dataType, workspaceMgr, working);
    }

    /** Returns an FP32 array of the convolution's output. */
    private static INDArray images(ProductKernels kernels, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return Workspaces.channelsLast(workspaceMgr, working, DataType.FLOAT, kernels.outputShape());
    }

    private INDArray sums(ProductKernels kernels, INDArray x, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        INDArray sums = images(kernels, workspaceMgr, working);
        kernels.forwardInFloat(x, getParam(BIAS), sums);
        return sums;
    }

    /**
     * Returns the capsules before their lengths change.
     *
     * @param values an array for the values of the activation function, which may be that of the sums
     */
    private INDArray vectors(INDArray sums, INDArray values, LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        if (!function.isIdentity()) {
            function.forwardFrom(layerId(), sums, values);
        }
        return dense(function.isIdentity() ? sums : values, workspaceMgr, place);
    }

    /** Returns a copy of images as capsules. */
    private INDArray dense(INDArray images, LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        INDArray capsules = Workspaces.dense(
                workspaceMgr, place, DataType.FLOAT, images.size(0), layer.getCapsules(), layer.getCapsuleDimensions());
        context.copies().copyOrAssign(images, capsules.reshape('c', images.shape()));
        return capsules;
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        ProductKernels kernels = kernels();
        kernels.takeWeights(getParam(WEIGHTS), training);
        INDArray sums =
                sums(kernels, ready(workspaceMgr, ArrayType.FF_WORKING_MEM), workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray capsules = vectors(sums, sums, workspaceMgr, ArrayType.ACTIVATIONS);
        Examples examples = new Examples(capsules);
        examples.forEach(example -> examples.write(example, squash.of(examples.doubles(example))));
        return capsules;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        Rejection.ofEpsilon(layerId(), epsilon, input.size(0), layer.getCapsules(), layer.getCapsuleDimensions());
        INDArray next = backward(epsilon, workspaceMgr);
        Gradient gradient = new DefaultGradient();
        gradTable.forEach(gradient::setGradientFor);
        return new Pair<>(gradient, next);
    }

    /** Computes the sums again, as DL4J does. Returns null if the gradient of the input is unwanted. */
    private INDArray backward(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        ArrayType working = ArrayType.BP_WORKING_MEM;
        ProductKernels kernels = kernels();
        INDArray x = ready(workspaceMgr, working);
        kernels.takeWeights(getParam(WEIGHTS), true);
        INDArray sums = sums(kernels, x, workspaceMgr, working);
        INDArray values = function.isIdentity() ? sums : images(kernels, workspaceMgr, working);
        INDArray capsules = vectors(sums, values, workspaceMgr, working);
        INDArray above = gradientOfVectors(capsules, epsilon, workspaceMgr).reshape('c', kernels.outputShape());
        INDArray delta = Workspaces.channelsLast(workspaceMgr, working, dataType, kernels.outputShape());
        if (function.isIdentity()) {
            context.copies().copyOrAssign(above, delta);
        } else {
            function.backward(layerId(), sums, above, delta, workspaceMgr);
        }
        Parameters gradients = parameters(gradTable);
        kernels.backwardWeights(x, delta, gradients.weights(), gradients.bias());
        if (inputGradientUnwanted) {
            return null;
        }
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, input.shape());
        kernels.backwardData(delta, getParam(WEIGHTS), next);
        return next;
    }

    /** Writes the gradient of the vectors over them. */
    private INDArray gradientOfVectors(INDArray vectors, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray above = Workspaces.dense(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, epsilon.shape());
        context.copies().copyOrAssign(epsilon, above);
        Examples examples = new Examples(vectors);
        Examples from = new Examples(above);
        double factor = ExternalErrors.factor();
        examples.forEach(example -> {
            double[] scaled = from.doubles(example);
            for (int i = 0; i < scaled.length; i++) {
                scaled[i] *= factor;
            }
            examples.write(example, squash.gradient(examples.doubles(example), scaled));
        });
        return vectors;
    }

    @Override
    public void spareInputGradient(boolean unwanted) {
        inputGradientUnwanted = unwanted;
    }

    @Override
    public Twin.Weights keptWeights() {
        return cache.weights();
    }

    @Override
    public void close() {
        function.close();
        cache.close();
    }
}
