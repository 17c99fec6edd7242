package org.dl4jamp.engine.nd4j;

import java.util.Arrays;
import java.util.Map;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;
import org.deeplearning4j.nn.layers.recurrent.LSTM;
import org.deeplearning4j.nn.params.LSTMParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An LSTM without peepholes over HALF weights that takes HALF {@code [minibatch, nIn, time]} and returns HALF
 * {@code [minibatch, n, time]}, or {@code [minibatch, time, size]} if that is the configured format. Products are
 * summed, and gates and memory cells computed, in FP32; what enters a product is rounded once. Gradients of the
 * parameters are FP32, and so is the state between inputs, which is DL4J's own.
 *
 * <p>Formulas and the treatment of masks are those of DL4J's layer. Weight noise and dropout aren't supported.
 */
final class LstmTwin extends BaseRecurrentLayer<org.deeplearning4j.nn.conf.layers.LSTM> {
    private static final long serialVersionUID = 1L;

    private final transient Products products;

    LstmTwin(NeuralNetConfiguration conf, Products products) {
        super(conf, DataType.HALF);
        this.products = products;
    }

    /** {@code [minibatch, nIn, time]}. */
    private INDArray sequence() {
        assertInputSet(false);
        long nIn = getParam(LSTMParamInitializer.INPUT_WEIGHT_KEY).size(0);
        INDArray sequence = input.rank() == 3 ? permuteIfNWC(input) : input;
        if (sequence.rank() != 3 || sequence.size(1) != nIn) {
            throw new DL4JInvalidInputException("Input of shape " + Arrays.toString(input.shape())
                    + " doesn't match the layer, which takes " + nIn + " values per time step, in format "
                    + getDataFormat()
                    + " " + layerId());
        }
        return sequence;
    }

    /** Begins a pass from a state, zeros where it's empty; with an output for the pass, or none to keep it. */
    private LstmSequence pass(Map<String, INDArray> begin, INDArray sequence, INDArray output, WorkingMemory memory) {
        INDArray activation = begin.get(LSTM.STATE_KEY_PREV_ACTIVATION);
        if (activation != null && activation.size(0) != sequence.size(0)) {
            throw new IllegalStateException("The state of an LSTM layer belongs to a minibatch of " + activation.size(0)
                    + ", but the input has " + sequence.size(0)
                    + ". Call rnnClearPreviousState() before you begin with other sequences");
        }
        LstmCell cell = new LstmCell(
                getParam(LSTMParamInitializer.INPUT_WEIGHT_KEY),
                getParam(LSTMParamInitializer.RECURRENT_WEIGHT_KEY),
                getParam(LSTMParamInitializer.BIAS_KEY),
                layerConf().getActivationFn(),
                layerConf().getGateActivationFn(),
                products);
        return new LstmSequence(cell, begin, sequence, maskArray, output, memory);
    }

    /**
     * Runs forward from a state, zeros where it's empty, and stores the state behind the last time step if {@code end}
     * isn't null.
     */
    private INDArray forward(
            Map<String, INDArray> begin, boolean training, Map<String, INDArray> end, LayerWorkspaceMgr workspaceMgr) {
        INDArray sequence = sequence();
        long[] shape = {sequence.size(0), layerConf().getNOut(), sequence.size(2)};
        INDArray output = workspaceMgr.createUninitialized(ArrayType.ACTIVATIONS, DataType.HALF, shape, 'f');
        LstmSequence pass = pass(begin, sequence, output, WorkingMemory.forward(workspaceMgr));
        pass.forward(training);
        if (end != null) {
            pass.storeLast(end);
        }
        return permuteIfNWC(output);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return forward(Map.of(), training, null, workspaceMgr);
    }

    @Override
    public INDArray rnnTimeStep(INDArray input, LayerWorkspaceMgr workspaceMgr) {
        setInput(input, workspaceMgr);
        return forward(stateMap, false, stateMap, workspaceMgr);
    }

    @Override
    public INDArray rnnActivateUsingStoredState(
            INDArray input, boolean training, boolean storeLastForTBPTT, LayerWorkspaceMgr workspaceMgr) {
        setInput(input, workspaceMgr);
        return forward(tBpttStateMap, training, storeLastForTBPTT ? tBpttStateMap : null, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        return backward(epsilon, kept(Map.of(), workspaceMgr), 0, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> tbpttBackpropGradient(
            INDArray epsilon, int tbpttBackLength, LayerWorkspaceMgr workspaceMgr) {
        // The networks copy the state of truncated BPTT to the other map after each segment: this is where the segment
        // began.
        LstmSequence pass = kept(stateMap, workspaceMgr);
        pass.storeLast(tBpttStateMap);
        return backward(epsilon, pass, Math.max(0, pass.steps() - tbpttBackLength), workspaceMgr);
    }

    /** Runs forward once more, and keeps what the backward pass needs. */
    private LstmSequence kept(Map<String, INDArray> begin, LayerWorkspaceMgr workspaceMgr) {
        LstmSequence pass = pass(begin, sequence(), null, WorkingMemory.backward(workspaceMgr));
        pass.forward(true);
        return pass;
    }

    private Pair<Gradient, INDArray> backward(
            INDArray epsilon, LstmSequence pass, long firstStep, LayerWorkspaceMgr workspaceMgr) {
        INDArray ofInput = pass.backward(permuteIfNWC(epsilon), firstStep, gradientViews);
        Gradient gradient = new DefaultGradient();
        gradientViews.forEach(gradient::setGradientFor);
        INDArray next = workspaceMgr
                .createUninitialized(ArrayType.ACTIVATION_GRAD, DataType.HALF, ofInput.shape(), 'f')
                .assign(ofInput);
        return new Pair<>(gradient, permuteIfNWC(next));
    }

    @Override
    public Type type() {
        return Type.RECURRENT;
    }

    @Override
    public boolean isPretrainLayer() {
        return false;
    }

    @Override
    public Pair<INDArray, MaskState> feedForwardMaskArray(
            INDArray maskArray, MaskState currentMaskState, int minibatchSize) {
        // As DL4J's layer: time steps are masked where the loss is computed, not here.
        return new Pair<>(maskArray, MaskState.Passthrough);
    }
}
