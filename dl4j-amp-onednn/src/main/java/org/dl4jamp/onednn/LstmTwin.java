package org.dl4jamp.onednn;

import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.recurrent.LSTM;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.base.Preconditions;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An LSTM without peepholes over the FP32 master weights, which it rounds itself. Gradients of the parameters are FP32, and so is the state
 * between sequences, which is DL4J's own.
 */
final class LstmTwin extends LSTM implements AutoCloseable {
    private static final long serialVersionUID = 1L;

    private final transient RecurrentPasses passes;

    LstmTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.helper = null;
        this.passes = new RecurrentPasses(
                context,
                type,
                LstmCell.GATES,
                (shape, weights) -> new LstmCell(context, layerId(), type, layerConf(), shape, weights));
    }

    private RecurrentPasses.Sequences sequences(Map<String, INDArray> state) {
        assertInputSet(false);
        Preconditions.checkState(input.rank() == 3, "3D input expected to RNN layer expected, got " + input.rank());
        return new RecurrentPasses.Sequences(
                permuteIfNWC(input),
                maskArray,
                new RecurrentState(state.get(STATE_KEY_PREV_ACTIVATION), state.get(STATE_KEY_PREV_MEMCELL)));
    }

    private static void store(RecurrentState last, Map<String, INDArray> state) {
        state.put(STATE_KEY_PREV_ACTIVATION, last.output());
        state.put(STATE_KEY_PREV_MEMCELL, last.memory());
    }

    @Override
    public INDArray activate(INDArray input, boolean training, LayerWorkspaceMgr workspaceMgr) {
        setInput(input, workspaceMgr);
        return activate(training, workspaceMgr);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return permuteIfNWC(passes.forward(
                sequences(Map.of()), RecurrentParameters.of(paramTable()), training, null, workspaceMgr));
    }

    @Override
    public INDArray rnnTimeStep(INDArray input, LayerWorkspaceMgr workspaceMgr) {
        setInput(input, workspaceMgr);
        return permuteIfNWC(passes.forward(
                sequences(stateMap),
                RecurrentParameters.of(paramTable()),
                false,
                last -> store(last, stateMap),
                workspaceMgr));
    }

    @Override
    public INDArray rnnActivateUsingStoredState(
            INDArray input, boolean training, boolean storeLastForTBPTT, LayerWorkspaceMgr workspaceMgr) {
        setInput(input, workspaceMgr);
        return permuteIfNWC(passes.forward(
                sequences(tBpttStateMap),
                RecurrentParameters.of(paramTable()),
                training,
                storeLastForTBPTT ? last -> store(last, tBpttStateMap) : null,
                workspaceMgr));
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        Pair<Gradient, INDArray> result = passes.backward(
                sequences(Map.of()),
                permuteIfNWC(epsilon),
                -1,
                RecurrentParameters.of(paramTable()),
                RecurrentParameters.of(gradientViews),
                null,
                workspaceMgr);
        return new Pair<>(result.getFirst(), permuteIfNWC(result.getSecond()));
    }

    @Override
    public Pair<Gradient, INDArray> tbpttBackpropGradient(
            INDArray epsilon, int tbpttBackwardLength, LayerWorkspaceMgr workspaceMgr) {
        // The networks copy the state of truncated BPTT to the other map after each segment: this is where the segment
        // began.
        Pair<Gradient, INDArray> result = passes.backward(
                sequences(stateMap),
                permuteIfNWC(epsilon),
                tbpttBackwardLength,
                RecurrentParameters.of(paramTable()),
                RecurrentParameters.of(gradientViews),
                last -> store(last, tBpttStateMap),
                workspaceMgr);
        return new Pair<>(result.getFirst(), permuteIfNWC(result.getSecond()));
    }

    @Override
    public void clear() {
        super.clear();
        passes.forget();
    }

    @Override
    public void close() {
        passes.close();
    }
}
