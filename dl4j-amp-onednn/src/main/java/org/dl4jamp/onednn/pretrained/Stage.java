package org.dl4jamp.onednn.pretrained;

import java.util.Map;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.activation.ActivationFunction;
import org.dl4jamp.onednn.linear.ProductCache;
import org.dl4jamp.onednn.linear.ProductKernels;
import org.dl4jamp.onednn.linear.ProductKernels.Parameters;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationPReLU;
import org.nd4j.linalg.activations.impl.ActivationRReLU;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * One product of an autoencoder: rows times weights, bias, activation function. Sums, functions and values are FP32;
 * what enters a product is rounded to the stage's type.
 */
final class Stage implements AutoCloseable {
    /**
     * The names of a stage's parameters.
     *
     * @param weights of {@code [nIn, nOut]}, or of {@code [nOut, nIn]} if they are transposed
     */
    record Names(String weights, String bias, boolean transposed) {
        Names(String weights, String bias) {
            this(weights, bias, false);
        }

        /** Returns the parameters, or their gradients, as products take them. */
        Parameters in(Map<String, INDArray> table) {
            INDArray matrix = table.get(weights);
            return new Parameters(transposed ? matrix : Views.transposed(matrix), table.get(bias));
        }
    }

    /**
     * The arrays of a forward pass that its backward pass reads.
     *
     * @param input rows in the stage's type
     * @param sums FP32, before the function
     * @param values FP32
     */
    record Trace(INDArray input, INDArray sums, INDArray values) {}

    private final OneDnnContext context;
    private final String layer;
    private final Names names;
    private final DataType type;
    private final IActivation activation;
    private final ActivationFunction function;
    private final ProductCache products;

    /** @param layer the layer's name, for messages */
    Stage(OneDnnContext context, String layer, Names names, DataType type, IActivation activation) {
        this.context = context;
        this.layer = layer;
        this.names = names;
        this.type = type;
        this.activation = activation;
        this.function = new ActivationFunction(context, activation);
        this.products = new ProductCache(context);
    }

    /**
     * Returns whether a stage may have a function: ND4J's without random numbers or parameters. DL4J's variational
     * autoencoder drops the array that a function returns, and both kinds call one function for several arrays.
     */
    static boolean has(IActivation activation) {
        return activation.getClass().getPackage() == ActivationIdentity.class.getPackage()
                && !(activation instanceof ActivationRReLU)
                && !(activation instanceof ActivationPReLU);
    }

    private ProductKernels kernels(INDArray input, Parameters parameters) {
        return products.dense(layer, type, input, parameters, false, null);
    }

    /** Returns rows in the stage's type and in order {@code c}: themselves, or a copy. */
    private INDArray ready(INDArray rows, WorkingMemory memory) {
        return copyUnless(rows, type, memory);
    }

    private INDArray copyUnless(INDArray rows, DataType wanted, WorkingMemory memory) {
        if (Layout.dense(wanted, rows.shape()).isThatOf(rows)) {
            return rows;
        }
        INDArray copy = memory.create(wanted, rows.shape());
        context.copies().copyOrAssign(rows, copy);
        return copy;
    }

    /** Runs forward. {@code rows} may have any type and order. */
    Trace forward(INDArray rows, Map<String, INDArray> table, boolean training, WorkingMemory memory) {
        Parameters parameters = names.in(table);
        INDArray x = ready(rows, memory);
        ProductKernels kernels = kernels(x, parameters);
        kernels.takeWeights(parameters.weights(), training);
        INDArray sums = memory.create(DataType.FLOAT, kernels.outputShape());
        kernels.forwardInFloat(x, parameters.bias(), sums);
        return new Trace(x, sums, function.isIdentity() ? sums : values(sums, training, memory));
    }

    private INDArray values(INDArray sums, boolean training, WorkingMemory memory) {
        INDArray values = memory.create(DataType.FLOAT, sums.shape());
        if (function.eltwise() != null) {
            function.forwardFrom(layer, sums, values);
            return values;
        }
        context.copies().copy(sums, values);
        return activation.getActivation(values, training);
    }

    /**
     * Returns the gradient of the sums, FP32.
     *
     * @param epsilon the gradient of the values, of any type and order; stays as it is
     */
    INDArray delta(Trace trace, INDArray epsilon, WorkingMemory memory) {
        INDArray above = copyUnless(epsilon, DataType.FLOAT, memory);
        if (function.isIdentity()) {
            return above;
        }
        INDArray delta = memory.create(DataType.FLOAT, above.shape());
        if (function.eltwise() != null) {
            function.backwardFrom(layer, trace.sums(), above, delta);
            return delta;
        }
        // ND4J's functions write into both arrays, and each sample of a code goes back through the same sums.
        INDArray sums = memory.create(DataType.FLOAT, above.shape());
        context.copies().copy(trace.sums(), sums);
        context.copies().copy(above, delta);
        return copyUnless(activation.backprop(sums, delta).getFirst(), DataType.FLOAT, memory);
    }

    /** Writes the gradients of weights and bias into their views. {@code delta} is that of the sums. */
    void backwardWeights(
            INDArray input, INDArray delta, Map<String, INDArray> table, Parameters gradients, WorkingMemory memory) {
        kernels(input, names.in(table))
                .backwardWeights(input, ready(delta, memory), gradients.weights(), gradients.bias());
    }

    /** Writes the gradient of the input, in the stage's type, into an array and returns it. */
    INDArray backwardData(
            INDArray input, INDArray delta, Map<String, INDArray> table, INDArray next, WorkingMemory memory) {
        Parameters parameters = names.in(table);
        kernels(input, parameters).backwardData(ready(delta, memory), parameters.weights(), next);
        return next;
    }

    /** Runs backward: writes gradients into views, and returns that of the input. */
    INDArray backward(
            Trace trace,
            INDArray epsilon,
            Map<String, INDArray> table,
            Map<String, INDArray> gradients,
            WorkingMemory memory) {
        INDArray delta = ready(delta(trace, epsilon, memory), memory);
        backwardWeights(trace.input(), delta, table, names.in(gradients), memory);
        INDArray next = memory.create(type, trace.input().shape());
        return backwardData(trace.input(), delta, table, next, memory);
    }

    /** Returns the values of a forward pass as a layer's activations, in the stage's type. */
    INDArray activations(Trace trace, LayerWorkspaceMgr workspaceMgr) {
        INDArray output = Workspaces.dense(
                workspaceMgr, ArrayType.ACTIVATIONS, type, trace.values().shape());
        context.copies().copy(trace.values(), output);
        return output;
    }

    /** Returns the gradient of the activations in front of the layer. {@code delta} is that of the sums. */
    INDArray inputGradient(Trace trace, INDArray delta, Map<String, INDArray> table, LayerWorkspaceMgr workspaceMgr) {
        INDArray x = trace.input();
        INDArray next = Workspaces.dense(workspaceMgr, ArrayType.ACTIVATION_GRAD, type, x.shape());
        return backwardData(x, delta, table, next, WorkingMemory.of(workspaceMgr, ArrayType.BP_WORKING_MEM));
    }

    /** Returns the copies of its weights in inference. */
    Twin.Weights weights() {
        return products.weights();
    }

    Names names() {
        return names;
    }

    @Override
    public void close() {
        function.close();
        products.close();
    }
}
