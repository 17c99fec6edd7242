package org.dl4jamp.onednn.capsule;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.CapsuleLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Capsules {@code [minibatch, capsules, dimensions]}. Each input capsule's predictions are a product of matrices; DL4J
 * multiplies copies of the input of the predictions' size. The routing of each example is computed in double, in loops.
 * Gradients have the factor of DL4J's SameDiff layers.
 */
final class CapsuleTwin extends SameDiffLayer implements OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private static final String WEIGHTS = "weight";
    private static final String BIAS = "bias";

    private final transient OneDnnContext context;
    private final transient CapsuleLayer layer;
    private final int results;

    CapsuleTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.layer = (CapsuleLayer) conf.getLayer();
        this.results = layer.getCapsules() * layer.getCapsuleDimensions();
    }

    /** Returns weights or their gradient, {@code [inputs, results, dimensions of inputs]}. */
    private INDArray matrices(INDArray weights) {
        return weights.reshape('c', layer.getInputCapsules(), results, layer.getInputCapsuleDimensions());
    }

    private static INDArray floats(LayerWorkspaceMgr workspaceMgr, ArrayType working, long... shape) {
        return Workspaces.dense(workspaceMgr, working, DataType.FLOAT, shape);
    }

    /** Returns the input, {@code [inputs, minibatch, dimensions of inputs]}. */
    private INDArray inputs(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        boolean fits = input.rank() == 3
                && input.size(1) == layer.getInputCapsules()
                && input.size(2) == layer.getInputCapsuleDimensions();
        if (!fits) {
            Rejection.of(conf, params, index, input);
        }
        return turned(input, workspaceMgr, working);
    }

    /** Returns a copy of an array with its first two axes exchanged. */
    private INDArray turned(INDArray array, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        INDArray from = array.permute(1, 0, 2);
        INDArray copy = floats(workspaceMgr, working, from.shape());
        context.copies().copyOrAssign(from, copy);
        return copy;
    }

    /** Returns {@code [minibatch, inputs, results]}. */
    private INDArray predictions(INDArray inputs, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        INDArray products = floats(workspaceMgr, working, inputs.size(0), inputs.size(1), results);
        context.products().multiply(inputs, matrices(getParam(WEIGHTS)).permute(0, 2, 1), products);
        return turned(products, workspaceMgr, working);
    }

    private double[] bias() {
        return layer.isHasBias() ? getParam(BIAS).dup('c').data().asDouble() : new double[results];
    }

    private Routing routing(Examples predictions, int example, double... bias) {
        return new Routing(
                predictions.floats(example),
                (int) layer.getInputCapsules(),
                layer.getCapsules(),
                layer.getCapsuleDimensions(),
                layer.getRoutings(),
                bias);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        INDArray inputs = inputs(workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray predictions = predictions(inputs, workspaceMgr, ArrayType.FF_WORKING_MEM);
        int minibatch = (int) input.size(0);
        INDArray output = floats(
                workspaceMgr, ArrayType.ACTIVATIONS, minibatch, layer.getCapsules(), layer.getCapsuleDimensions());
        Examples from = new Examples(predictions);
        Examples to = new Examples(output);
        double[] bias = bias();
        from.forEach(example -> to.write(example, routing(from, example, bias).forward()));
        return output;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        int minibatch = (int) input.size(0);
        Rejection.ofEpsilon(layerId(), epsilon, minibatch, layer.getCapsules(), layer.getCapsuleDimensions());
        INDArray inputs = inputs(workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray predictions = predictions(inputs, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray above = floats(workspaceMgr, ArrayType.BP_WORKING_MEM, epsilon.shape());
        context.copies().copyOrAssign(epsilon, above);
        above.muli(ExternalErrors.factor());
        Gradient gradient = new DefaultGradient();
        double[] ofBias = backward(predictions, above);
        if (layer.isHasBias()) {
            INDArray view = gradTable.get(BIAS);
            for (int i = 0; i < results; i++) {
                view.putScalar(i, ofBias[i]);
            }
            gradient.setGradientFor(BIAS, view);
        }
        INDArray delta = turned(predictions, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray ofWeights = gradTable.get(WEIGHTS);
        context.products().multiply(delta.permute(0, 2, 1), inputs, matrices(ofWeights));
        gradient.setGradientFor(WEIGHTS, ofWeights);
        context.products().multiply(delta, matrices(getParam(WEIGHTS)), inputs);
        INDArray next = floats(workspaceMgr, ArrayType.ACTIVATION_GRAD, input.shape());
        context.copies().copyOrAssign(inputs.permute(1, 0, 2), next);
        return new Pair<>(gradient, next);
    }

    /** Writes the gradient of the predictions over them, and returns that of the bias. */
    private double[] backward(INDArray predictions, INDArray above) {
        Examples from = new Examples(predictions);
        Examples epsilon = new Examples(above);
        double[] bias = bias();
        double[][] ofBias = new double[(int) above.size(0)][results];
        from.forEach(example -> {
            Routing routing = routing(from, example, bias);
            routing.forward();
            from.write(example, routing.backward(epsilon.doubles(example), ofBias[example]));
        });
        double[] sum = new double[results];
        for (double[] each : ofBias) {
            for (int i = 0; i < results; i++) {
                sum[i] += each[i];
            }
        }
        return sum;
    }

    @Override
    public void close() {
        // The products are the context's.
    }
}
