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

    private LstmCell cell() {
        return new LstmCell(
                getParam(LSTMParamInitializer.INPUT_WEIGHT_KEY),
                getParam(LSTMParamInitializer.RECURRENT_WEIGHT_KEY),
                getParam(LSTMParamInitializer.BIAS_KEY),
                layerConf().getActivationFn(),
                layerConf().getGateActivationFn(),
                products);
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

    private static LstmCell.State state(Map<String, INDArray> stored, INDArray sequence) {
        INDArray activation = stored.get(LSTM.STATE_KEY_PREV_ACTIVATION);
        if (activation != null && activation.size(0) != sequence.size(0)) {
            throw new IllegalStateException("The state of an LSTM layer belongs to a minibatch of " + activation.size(0)
                    + ", but the input has " + sequence.size(0)
                    + ". Call rnnClearPreviousState() before you begin with other sequences");
        }
        return new LstmCell.State(activation, stored.get(LSTM.STATE_KEY_PREV_MEMCELL));
    }

    private static void store(LstmCell.State state, Map<String, INDArray> map) {
        map.put(LSTM.STATE_KEY_PREV_ACTIVATION, state.activation());
        map.put(LSTM.STATE_KEY_PREV_MEMCELL, state.memory());
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
        WorkingMemory memory = WorkingMemory.forward(workspaceMgr);
        LstmSequence pass =
                new LstmSequence(cell(), state(begin, sequence), sequence, maskArray, output, memory).forward(training);
        if (end != null) {
            store(pass.last(), end);
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
        store(pass.last(), tBpttStateMap);
        return backward(epsilon, pass, Math.max(0, pass.steps() - tbpttBackLength), workspaceMgr);
    }

    /** Runs forward once more, and keeps what the backward pass needs. */
    private LstmSequence kept(Map<String, INDArray> begin, LayerWorkspaceMgr workspaceMgr) {
        INDArray sequence = sequence();
        WorkingMemory memory = WorkingMemory.backward(workspaceMgr);
        return new LstmSequence(cell(), state(begin, sequence), sequence, maskArray, null, memory).forward(true);
    }

    private Pair<Gradient, INDArray> backward(
            INDArray epsilon, LstmSequence pass, long firstStep, LayerWorkspaceMgr workspaceMgr) {
        INDArray inputWeights = gradientViews.get(LSTMParamInitializer.INPUT_WEIGHT_KEY);
        INDArray recurrentWeights = gradientViews.get(LSTMParamInitializer.RECURRENT_WEIGHT_KEY);
        INDArray bias = gradientViews.get(LSTMParamInitializer.BIAS_KEY);
        INDArray ofInput = pass.backward(permuteIfNWC(epsilon), firstStep, inputWeights, recurrentWeights, bias);
        Gradient gradient = new DefaultGradient();
        gradient.setGradientFor(LSTMParamInitializer.INPUT_WEIGHT_KEY, inputWeights);
        gradient.setGradientFor(LSTMParamInitializer.RECURRENT_WEIGHT_KEY, recurrentWeights);
        gradient.setGradientFor(LSTMParamInitializer.BIAS_KEY, bias);
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
