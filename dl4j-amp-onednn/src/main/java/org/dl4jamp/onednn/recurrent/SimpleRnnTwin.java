package org.dl4jamp.onednn.recurrent;

import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.common.base.Preconditions;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A simple recurrent layer over the FP32 master weights, which it rounds itself. Gradients of the parameters are FP32, and so is the state
 * between sequences, which is DL4J's own.
 */
final class SimpleRnnTwin extends SimpleRnn implements Directional {
    private static final long serialVersionUID = 1L;

    private final transient RecurrentPasses passes;

    SimpleRnnTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.passes = new RecurrentPasses(
                context,
                type,
                SimpleRnnCell.GATES,
                (shape, weights) -> new SimpleRnnCell(context, layerId(), type, layerConf(), shape, weights));
    }

    @Override
    public RecurrentPasses passes() {
        return passes;
    }

    @Override
    public RecurrentParameters parameters() {
        return RecurrentParameters.of(params);
    }

    @Override
    public RecurrentParameters gradients() {
        return RecurrentParameters.of(gradientViews);
    }

    private RecurrentPasses.Sequences sequences(Map<String, INDArray> state) {
        assertInputSet(false);
        Preconditions.checkState(input.rank() == 3, "3D input expected to RNN layer expected, got " + input.rank());
        return new RecurrentPasses.Sequences(
                permuteIfNWC(input), maskArray, new RecurrentState(state.get(STATE_KEY_PREV_ACTIVATION), null));
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return permuteIfNWC(passes.forward(sequences(Map.of()), parameters(), training, null, workspaceMgr));
    }

    @Override
    public INDArray rnnTimeStep(INDArray input, LayerWorkspaceMgr workspaceMgr) {
        setInput(input, workspaceMgr);
        return permuteIfNWC(passes.forward(
                sequences(stateMap),
                parameters(),
                false,
                last -> stateMap.put(STATE_KEY_PREV_ACTIVATION, last.output()),
                workspaceMgr));
    }

    @Override
    public INDArray rnnActivateUsingStoredState(
            INDArray input, boolean training, boolean storeLastForTBPTT, LayerWorkspaceMgr workspaceMgr) {
        setInput(input, workspaceMgr);
        return permuteIfNWC(passes.forward(
                sequences(tBpttStateMap),
                parameters(),
                training,
                storeLastForTBPTT ? last -> tBpttStateMap.put(STATE_KEY_PREV_ACTIVATION, last.output()) : null,
                workspaceMgr));
    }

    @Override
    public Pair<Gradient, INDArray> tbpttBackpropGradient(
            INDArray epsilon, int tbpttBackLength, LayerWorkspaceMgr workspaceMgr) {
        // DL4J's layer begins its backward pass with a state of zeros.
        INDArray next = passes.backward(
                sequences(Map.of()),
                permuteIfNWC(epsilon),
                tbpttBackLength,
                parameters(),
                gradients(),
                null,
                workspaceMgr,
                ArrayType.ACTIVATION_GRAD);
        return new Pair<>(gradients().asGradient(), permuteIfNWC(next));
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
