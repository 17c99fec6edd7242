package org.dl4jamp.onednn.output;

import static org.deeplearning4j.nn.layers.ocnn.OCNNParamInitializer.R_KEY;
import static org.deeplearning4j.nn.layers.ocnn.OCNNParamInitializer.V_KEY;
import static org.deeplearning4j.nn.layers.ocnn.OCNNParamInitializer.W_KEY;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.ocnn.OCNNOutputLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.host.Magnitudes;
import org.dl4jamp.onednn.linear.ProductCache;
import org.dl4jamp.onednn.linear.ProductKernels;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.Noise;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Broadcast;
import org.nd4j.linalg.factory.Nd4j;

/**
 * A network for one class (Chalapathy, Menon and Chawla, 2018) of rows {@code [minibatch, nIn]}, in FP32: a hidden
 * layer of weights V, an output of weights w, and a threshold r. The gradient of V is one product of matrices, where
 * DL4J multiplies each input by each hidden unit in an array of its own for each example.
 *
 * <p>DL4J's gradient of the input is that of the loss by the output, repeated for each input; here it is the same.
 * Outputs of an epoch, of which a quantile becomes r, are kept in the network's own layer.
 */
final class OneClassTwin extends OCNNOutputLayer implements Twin.ScoringOutput, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient ProductCache kernels;
    private transient OCNNOutputLayer master;
    private double loss;

    OneClassTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.kernels = new ProductCache(context);
    }

    @Override
    public void replaces(Layer layer) {
        this.master = (OCNNOutputLayer) layer;
    }

    private boolean takesInput() {
        return input != null
                && input.rank() == 2
                && input.size(1) == getParam(V_KEY).size(0);
    }

    private IActivation function() {
        return layerConf().getActivationFn();
    }

    /**
     * Returns whether two passes have equal outputs. oneDNN's functions have neither random numbers nor anything else
     * that changes between two calls.
     */
    private boolean repeats() {
        return Eltwise.of(function()).isPresent() && !Noise.isIn(layerConf());
    }

    private INDArray rows(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return context.copies().channelsLast(input, DataType.FLOAT, workspaceMgr, working);
    }

    private ProductKernels kernels(INDArray rows, ProductKernels.Parameters parameters) {
        return kernels.dense(layerId(), DataType.FLOAT, rows, parameters, false, null);
    }

    private static ProductKernels.Parameters parameters(INDArray matrix) {
        return new ProductKernels.Parameters(Views.transposed(matrix), null);
    }

    /** Returns sums {@code [minibatch, hidden]} before the activation function. */
    private INDArray sums(
            INDArray rows, INDArray v, boolean training, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        ProductKernels.Parameters parameters = parameters(v);
        ProductKernels ours = kernels(rows, parameters);
        ours.takeWeights(parameters.weights(), training);
        INDArray sums = Workspaces.dense(workspaceMgr, working, DataType.FLOAT, ours.outputShape());
        ours.forwardInFloat(rows, null, sums);
        return sums;
    }

    /** Returns the output of each example, of one axis. */
    private static INDArray outputs(INDArray hidden, INDArray w, LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        INDArray outputs = Workspaces.dense(workspaceMgr, place, DataType.FLOAT, hidden.size(0));
        return hidden.mmuli(w.reshape(w.length()), outputs);
    }

    @Override
    public INDArray activate(INDArray given, boolean training, LayerWorkspaceMgr workspaceMgr) {
        this.input = given;
        return activate(training, workspaceMgr);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        if (!takesInput()) {
            // DL4J's layer throws.
            return super.activate(training, workspaceMgr);
        }
        INDArray w = getParamWithNoise(W_KEY, training, workspaceMgr);
        INDArray v = getParamWithNoise(V_KEY, training, workspaceMgr);
        INDArray rows = rows(workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray sums = sums(rows, v, training, workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray outputs = outputs(function().getActivation(sums, training), w, workspaceMgr, ArrayType.ACTIVATIONS);
        // DL4J looks for labels, of which it needs none, before it scores single examples.
        this.labels = outputs;
        return outputs;
    }

    @Override
    protected INDArray preOutput2d(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return activate(training, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        if (!takesInput()) {
            // DL4J's layer throws.
            return super.backpropGradient(epsilon, workspaceMgr);
        }
        INDArray w = getParam(W_KEY);
        INDArray rows = rows(workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray outputs = activate(true, workspaceMgr);
        INDArray delta = layerConf().getLossFn().computeGradient(labels, outputs, function(), maskArray);
        INDArray inferred = repeats() ? outputs : activate(false, workspaceMgr);
        // A quantile among NaN would be one, long after the step was skipped.
        if (Magnitudes.areFinite(inferred)) {
            keep(inferred);
        }
        INDArray sums = sums(rows, getParam(V_KEY), true, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray part = delta.mul(1 / (layerConf().getNu() * delta.length()));
        Gradient gradient = new DefaultGradient();
        INDArray hidden = function().getActivation(copy(sums, workspaceMgr), true);
        INDArray ofW = part.reshape(1, part.length()).mmul(hidden).rsubi(w);
        gradient.setGradientFor(W_KEY, gradientViews.get(W_KEY).assign(ofW));
        gradient.setGradientFor(V_KEY, gradientOfV(rows, sums, part));
        double ofR = delta.meanNumber().doubleValue() / layerConf().getNu() - 1;
        gradient.setGradientFor(R_KEY, gradientViews.get(R_KEY).assign(ofR));
        clearNoiseWeightParams();
        loss = loss(outputs);
        INDArray next = Workspaces.dense(workspaceMgr, ArrayType.ACTIVATION_GRAD, DataType.FLOAT, rows.shape());
        return new Pair<>(gradient, Broadcast.copy(next, delta, next, 0));
    }

    private INDArray copy(INDArray sums, LayerWorkspaceMgr workspaceMgr) {
        INDArray copy = Workspaces.dense(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, sums.shape());
        context.copies().copy(sums, copy);
        return copy;
    }

    /**
     * Computes the gradient of the hidden layer's weights into its view.
     *
     * @param sums before the activation function; they are lost
     * @param part the gradient of each output
     */
    private INDArray gradientOfV(INDArray rows, INDArray sums, INDArray part) {
        INDArray v = getParam(V_KEY);
        // As in DL4J, functions of several sums count by the derivatives of each value's own sum.
        INDArray delta = function()
                .backprop(sums, Nd4j.ones(DataType.FLOAT, sums.shape()))
                .getFirst()
                .muliRowVector(getParam(W_KEY).neg())
                .muliColumnVector(part);
        INDArray view = gradientViews.get(V_KEY);
        ProductKernels ours = kernels(rows, parameters(v));
        ours.backwardWeights(rows, delta, Views.transposed(view), null);
        return view.addi(v);
    }

    /** Keeps outputs of an epoch as DL4J does, and sets r with the first batch of the next one. */
    private void keep(INDArray outputs) {
        org.deeplearning4j.nn.conf.ocnn.OCNNOutputLayer own =
                (org.deeplearning4j.nn.conf.ocnn.OCNNOutputLayer) master.conf().getLayer();
        OutputWindow window = OutputWindow.of(master);
        int epoch = getEpochCount();
        int last = own.getLastEpochSinceRUpdated();
        if (last == 0 && epoch == 0) {
            window.append(outputs, own.getWindowSize());
        } else if (last != epoch) {
            getParam(R_KEY).putScalar(0, window.quantile(own.getNu()));
        } else {
            window.overwrite(outputs);
        }
        own.setLastEpochSinceRUpdated(epoch);
    }

    /** Returns DL4J's loss of the outputs of a batch. */
    private double loss(INDArray outputs) {
        double norms = squares(W_KEY) + squares(V_KEY);
        double r = getParam(R_KEY).getDouble(0);
        double sum = 0;
        for (float output : outputs.toFloatVector()) {
            sum += Math.max(r - output, 0);
        }
        return norms / 2 + sum / outputs.length() / layerConf().getNu() - r;
    }

    private double squares(String name) {
        double norm = getParam(name).norm2Number().doubleValue();
        return norm * norm;
    }

    @Override
    public boolean scoresBackwardPass() {
        return repeats();
    }

    @Override
    public double scoreOfBackwardPass(double fullNetworkRegScore) {
        score = loss / (conf().isMiniBatch() ? getInputMiniBatchSize() : 1) + fullNetworkRegScore;
        return score;
    }

    @Override
    public Twin.Weights keptWeights() {
        return kernels.weights();
    }

    @Override
    public void close() {
        kernels.close();
    }
}
