package org.dl4jamp.onednn.embedding;

import java.util.Map;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.activation.ActivationFunction;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The passes of all embeddings, in FP32: rows of the table plus bias, activation function, mask. */
final class EmbeddingPasses implements AutoCloseable {
    private static final String TABLE = DefaultParamInitializer.WEIGHT_KEY;
    private static final String BIAS = DefaultParamInitializer.BIAS_KEY;

    private final OneDnnContext context;
    private final ActivationFunction function;
    private final Supplier<String> layer;
    private final UnaryOperator<INDArray> view;

    /**
     * Makes the passes of a layer.
     *
     * @param view returns a view, with the axes of DL4J's layer, of an array {@code [nOut, rows]}
     */
    EmbeddingPasses(
            OneDnnContext context, IActivation activation, Supplier<String> layer, UnaryOperator<INDArray> view) {
        this.context = context;
        this.function = new ActivationFunction(context, activation);
        this.layer = layer;
        this.view = view;
    }

    /** Returns whether the function takes whole arrays, and checks their shapes itself. */
    boolean takesWholeArrays() {
        return function.whole() != null;
    }

    /**
     * Runs the forward pass.
     *
     * @return FLOAT, with the axes of DL4J's layer
     */
    INDArray forward(
            EmbeddingRows rows, Map<String, INDArray> parameters, boolean training, LayerWorkspaceMgr workspaceMgr) {
        long columns = parameters.get(TABLE).size(1);
        if (function.isIdentity()) {
            INDArray output = columns(rows, columns, workspaceMgr, ArrayType.ACTIVATIONS);
            read(rows, parameters, output);
            return masked(rows, output);
        }
        INDArray sums = columns(rows, columns, workspaceMgr, ArrayType.FF_WORKING_MEM);
        read(rows, parameters, sums);
        if (!takesWholeArrays()) {
            INDArray output = columns(rows, columns, workspaceMgr, ArrayType.ACTIVATIONS);
            function.forward(layer.get(), sums, training, output);
            return masked(rows, output);
        }
        INDArray values = function.whole().values(view.apply(sums), training, workspaceMgr);
        if (rows.isMasked()) {
            INDArray output = columns(rows, values.length() / rows.count(), workspaceMgr, ArrayType.ACTIVATIONS);
            context.copies().copyOrAssign(values, view.apply(output));
            return masked(rows, output);
        }
        INDArray output = Workspaces.dense(workspaceMgr, ArrayType.ACTIVATIONS, DataType.FLOAT, values.shape());
        context.copies().copyOrAssign(values, output);
        return output;
    }

    private static INDArray columns(EmbeddingRows rows, long number, LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        return Workspaces.dense(workspaceMgr, place, DataType.FLOAT, number, rows.count());
    }

    private INDArray masked(EmbeddingRows rows, INDArray output) {
        rows.mask(output);
        return view.apply(output);
    }

    private static void read(EmbeddingRows rows, Map<String, INDArray> parameters, INDArray target) {
        rows.read(parameters.get(TABLE), parameters.get(BIAS), target);
    }

    /**
     * Runs the backward pass.
     *
     * @param epsilon with the axes of DL4J's layer
     * @param views where their gradients go
     */
    Gradient backward(
            EmbeddingRows rows,
            INDArray epsilon,
            Map<String, INDArray> parameters,
            Map<String, INDArray> views,
            LayerWorkspaceMgr workspaceMgr) {
        INDArray delta = delta(rows, epsilon, parameters, workspaceMgr);
        rows.mask(delta);
        Gradient gradient = new DefaultGradient();
        rows.addUp(delta, views.get(TABLE));
        gradient.setGradientFor(TABLE, views.get(TABLE));
        if (parameters.containsKey(BIAS)) {
            rows.addUpAll(delta, views.get(BIAS));
            gradient.setGradientFor(BIAS, views.get(BIAS));
        }
        return gradient;
    }

    private INDArray delta(
            EmbeddingRows rows, INDArray epsilon, Map<String, INDArray> parameters, LayerWorkspaceMgr workspaceMgr) {
        long columns = parameters.get(TABLE).size(1);
        INDArray delta = columns(rows, columns, workspaceMgr, ArrayType.BP_WORKING_MEM);
        if (function.isIdentity()) {
            context.copies().copy(epsilon, view.apply(delta));
            return delta;
        }
        INDArray sums = columns(rows, columns, workspaceMgr, ArrayType.BP_WORKING_MEM);
        read(rows, parameters, sums);
        if (takesWholeArrays()) {
            INDArray gradient = function.whole().gradient(view.apply(sums), epsilon, workspaceMgr);
            context.copies().copyOrAssign(gradient, view.apply(delta));
        } else {
            INDArray above = columns(rows, columns, workspaceMgr, ArrayType.BP_WORKING_MEM);
            context.copies().copy(epsilon, view.apply(above));
            function.backward(layer.get(), sums, above, delta, workspaceMgr);
        }
        return delta;
    }

    @Override
    public void close() {
        function.close();
    }
}
