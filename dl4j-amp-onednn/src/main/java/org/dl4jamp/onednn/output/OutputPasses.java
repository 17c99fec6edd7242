package org.dl4jamp.onednn.output;

import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.linear.ProductCache;
import org.dl4jamp.onednn.linear.ProductKernels;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The passes of output layers: products of rows {@code [rows, nIn]} by the weights, with FP32 sums, and their FP32
 * loss, which is {@link SoftmaxCrossEntropy} or ND4J's.
 */
final class OutputPasses implements AutoCloseable {
    private final OneDnnContext context;
    private final DataType type;
    private final Supplier<String> layer;
    private final ProductCache kernels;
    private final RowLoss loss;

    /** @param type the type of the products' factors: FLOAT or BFLOAT16 */
    OutputPasses(OneDnnContext context, DataType type, BaseOutputLayer conf, Supplier<String> layer) {
        this.context = context;
        this.kernels = new ProductCache(context);
        this.type = type;
        this.layer = layer;
        this.loss = new RowLoss(context, conf.getLossFn(), conf.getActivationFn(), layer);
    }

    private ProductKernels kernels(INDArray rows, ProductKernels.Parameters parameters) {
        return kernels.dense(layer.get(), type, rows, parameters, false, null);
    }

    Twin.Weights weights() {
        return kernels.weights();
    }

    /**
     * Returns the FP32 sums before the activation function.
     *
     * @param rows the input in the type and order of the kernels
     * @param training whether a backward pass follows
     * @param place where the result goes
     */
    INDArray preOutput(
            INDArray rows,
            Map<String, INDArray> params,
            boolean training,
            LayerWorkspaceMgr workspaceMgr,
            ArrayType place) {
        ProductKernels.Parameters parameters = parameters(params);
        ProductKernels ours = kernels(rows, parameters);
        ours.takeWeights(parameters.weights(), training);
        INDArray sums = Workspaces.dense(workspaceMgr, place, DataType.FLOAT, ours.outputShape());
        ours.forwardInFloat(rows, parameters.bias(), sums);
        return sums;
    }

    /** Applies the activation function to the result of {@link #preOutput}, which it may overwrite. */
    INDArray activated(INDArray sums, boolean training) {
        return loss.activated(sums, training);
    }

    /**
     * Returns rows, or sequences {@code [minibatch, nIn, time]}, in the type of the products, with their channels last
     * in memory.
     */
    INDArray rows(INDArray rows, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return context.copies().channelsLast(rows, type, workspaceMgr, working);
    }

    /** Returns labels {@code [minibatch, nOut, time]} in FP32, with their channels last in memory. */
    INDArray targets(INDArray labels, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return context.copies().channelsLast(labels, DataType.FLOAT, workspaceMgr, working);
    }

    /**
     * Computes loss and gradients. Those of the parameters go into their views.
     *
     * @param rows the input in the type and order of the kernels
     * @param views where their gradients go
     * @param labels in the order of the rows
     * @param mask in the order of the rows; null if there is none
     * @param masking applies DL4J's mask before the activation function
     * @return the gradient of the rows
     */
    INDArray backward(
            INDArray rows,
            Map<String, INDArray> params,
            Map<String, INDArray> views,
            INDArray labels,
            INDArray mask,
            Consumer<INDArray> masking,
            LayerWorkspaceMgr workspaceMgr) {
        ProductKernels.Parameters parameters = parameters(params);
        ProductKernels.Parameters gradients = parameters(views);
        INDArray sums = preOutput(rows, params, true, workspaceMgr, ArrayType.BP_WORKING_MEM);
        masking.accept(sums);
        INDArray delta = rows(loss.gradient(sums, labels, mask, workspaceMgr), workspaceMgr, ArrayType.BP_WORKING_MEM);
        ProductKernels ours = kernels(rows, parameters);
        ours.backwardWeights(rows, delta, gradients.weights(), gradients.bias());
        INDArray next = Workspaces.dense(workspaceMgr, ArrayType.ACTIVATION_GRAD, type, rows.shape());
        ours.backwardData(delta, parameters.weights(), next);
        return next;
    }

    /** Returns parameters, or views of their gradients, in the kernels' order of axes. */
    private static ProductKernels.Parameters parameters(Map<String, INDArray> table) {
        return new ProductKernels.Parameters(
                Views.transposed(table.get(DefaultParamInitializer.WEIGHT_KEY)),
                table.get(DefaultParamInitializer.BIAS_KEY));
    }

    /** Returns the gradients of the parameters as DL4J's output layers return them. */
    static Gradient gradient(Map<String, INDArray> views) {
        Gradient gradient = new DefaultGradient();
        gradient.setGradientFor(DefaultParamInitializer.WEIGHT_KEY, views.get(DefaultParamInitializer.WEIGHT_KEY));
        if (views.containsKey(DefaultParamInitializer.BIAS_KEY)) {
            gradient.setGradientFor(DefaultParamInitializer.BIAS_KEY, views.get(DefaultParamInitializer.BIAS_KEY));
        }
        return gradient;
    }

    /** Returns whether {@link #score} is known after a backward pass. */
    boolean scoresBackwardPass() {
        return loss.sumsLosses();
    }

    /**
     * Returns the score of the last backward pass.
     *
     * @param examples DL4J's divisor of the sum of losses; 1 for a network that doesn't average
     * @param regularization the summand of the score
     */
    double score(int examples, double regularization) {
        return loss.sum() / examples + regularization;
    }

    @Override
    public void close() {
        kernels.close();
        loss.close();
    }
}
