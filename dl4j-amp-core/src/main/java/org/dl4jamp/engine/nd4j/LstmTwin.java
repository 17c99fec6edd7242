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

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray sequence = sequence();
        INDArray output = output(sequence, workspaceMgr);
        forward(sequence, LstmCell.State.ZERO, training, output, workspaceMgr);
        return permuteIfNWC(output);
    }

    @Override
    public INDArray rnnTimeStep(INDArray input, LayerWorkspaceMgr workspaceMgr) {
        setInput(input, workspaceMgr);
        INDArray sequence = sequence();
        INDArray output = output(sequence, workspaceMgr);
        store(
                forward(sequence, state(stateMap, sequence), false, output, workspaceMgr)
                        .last(),
                stateMap);
        return permuteIfNWC(output);
    }

    @Override
    public INDArray rnnActivateUsingStoredState(
            INDArray input, boolean training, boolean storeLastForTBPTT, LayerWorkspaceMgr workspaceMgr) {
        setInput(input, workspaceMgr);
        INDArray sequence = sequence();
        INDArray output = output(sequence, workspaceMgr);
        LstmForward forward = forward(sequence, state(tBpttStateMap, sequence), training, output, workspaceMgr);
        if (storeLastForTBPTT) {
            store(forward.last(), tBpttStateMap);
        }
        return permuteIfNWC(output);
    }

    private INDArray output(INDArray sequence, LayerWorkspaceMgr workspaceMgr) {
        long[] shape = {sequence.size(0), layerConf().getNOut(), sequence.size(2)};
        return workspaceMgr.createUninitialized(ArrayType.ACTIVATIONS, DataType.HALF, shape, 'f');
    }

    private LstmForward forward(
            INDArray sequence,
            LstmCell.State initial,
            boolean training,
            INDArray output,
            LayerWorkspaceMgr workspaceMgr) {
        return LstmForward.run(
                cell(), initial, sequence, maskArray, training, output, WorkingMemory.forward(workspaceMgr));
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        return backward(
                epsilon,
                LstmForward.runKeeping(
                        cell(), LstmCell.State.ZERO, sequence(), maskArray, WorkingMemory.backward(workspaceMgr)),
                0,
                workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> tbpttBackpropGradient(
            INDArray epsilon, int tbpttBackLength, LayerWorkspaceMgr workspaceMgr) {
        INDArray sequence = sequence();
        // The networks copy the state of truncated BPTT to the other map after each segment: this is where the segment
        // began.
        LstmForward forward = LstmForward.runKeeping(
                cell(), state(stateMap, sequence), sequence, maskArray, WorkingMemory.backward(workspaceMgr));
        store(forward.last(), tBpttStateMap);
        return backward(epsilon, forward, Math.max(0, forward.steps() - tbpttBackLength), workspaceMgr);
    }

    private Pair<Gradient, INDArray> backward(
            INDArray epsilon, LstmForward forward, long firstStep, LayerWorkspaceMgr workspaceMgr) {
        LstmBackward backward =
                new LstmBackward(forward, permuteIfNWC(epsilon), firstStep, WorkingMemory.backward(workspaceMgr));
        INDArray inputWeightGradient = gradientViews.get(LSTMParamInitializer.INPUT_WEIGHT_KEY);
        INDArray recurrentWeightGradient = gradientViews.get(LSTMParamInitializer.RECURRENT_WEIGHT_KEY);
        INDArray biasGradient = gradientViews.get(LSTMParamInitializer.BIAS_KEY);
        backward.inputWeightGradient(inputWeightGradient);
        backward.recurrentWeightGradient(recurrentWeightGradient);
        biasGradient.assign(backward.biasGradient().reshape(biasGradient.shape()));
        Gradient gradient = new DefaultGradient();
        gradient.setGradientFor(LSTMParamInitializer.INPUT_WEIGHT_KEY, inputWeightGradient);
        gradient.setGradientFor(LSTMParamInitializer.RECURRENT_WEIGHT_KEY, recurrentWeightGradient);
        gradient.setGradientFor(LSTMParamInitializer.BIAS_KEY, biasGradient);

        INDArray inputGradient = backward.inputGradient();
        INDArray next = workspaceMgr
                .createUninitialized(ArrayType.ACTIVATION_GRAD, DataType.HALF, inputGradient.shape(), 'f')
                .assign(inputGradient);
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
