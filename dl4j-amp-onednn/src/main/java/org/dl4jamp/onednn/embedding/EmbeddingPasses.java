package org.dl4jamp.onednn.embedding;

import java.util.Map;
import java.util.function.Supplier;
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

    EmbeddingPasses(OneDnnContext context, IActivation activation, Supplier<String> layer) {
        this.context = context;
        this.function = new ActivationFunction(context, activation);
        this.layer = layer;
    }

    /**
     * Runs the forward pass.
     *
     * @return FLOAT {@code [nOut, rows]}
     */
    INDArray forward(
            EmbeddingRows rows, Map<String, INDArray> parameters, boolean training, LayerWorkspaceMgr workspaceMgr) {
        long columns = parameters.get(TABLE).size(1);
        INDArray output = Workspaces.dense(workspaceMgr, ArrayType.ACTIVATIONS, DataType.FLOAT, columns, rows.count());
        if (function.isIdentity()) {
            read(rows, parameters, output);
        } else {
            INDArray sums =
                    Workspaces.dense(workspaceMgr, ArrayType.FF_WORKING_MEM, DataType.FLOAT, columns, rows.count());
            read(rows, parameters, sums);
            function.forward(layer.get(), sums, training, output);
        }
        rows.mask(output);
        return output;
    }

    private static void read(EmbeddingRows rows, Map<String, INDArray> parameters, INDArray target) {
        rows.read(parameters.get(TABLE), parameters.get(BIAS), target);
    }

    /**
     * Runs the backward pass.
     *
     * @param epsilon {@code [nOut, rows]}, or the same with the rows on more than one axis
     * @param views where their gradients go
     */
    Gradient backward(
            EmbeddingRows rows,
            INDArray epsilon,
            Map<String, INDArray> parameters,
            Map<String, INDArray> views,
            LayerWorkspaceMgr workspaceMgr) {
        INDArray columns = Workspaces.dense(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, epsilon.shape());
        context.copies().copy(epsilon, columns);
        INDArray delta = delta(rows, columns.reshape('c', epsilon.size(0), rows.count()), parameters, workspaceMgr);
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
        if (function.isIdentity()) {
            return epsilon;
        }
        INDArray sums = Workspaces.dense(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, epsilon.shape());
        read(rows, parameters, sums);
        INDArray delta = Workspaces.dense(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, epsilon.shape());
        function.backward(layer.get(), sums, epsilon, delta, workspaceMgr);
        return delta;
    }

    @Override
    public void close() {
        function.close();
    }
}
