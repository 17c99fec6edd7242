package org.dl4jamp.onednn.recurrent;

import java.util.Map;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.weights.KeptWeights;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A simple recurrent layer over the FP32 master weights, which it rounds itself. Gradients of the parameters are FP32,
 * and so is the state between sequences, which is DL4J's own.
 */
final class SimpleRnnTwin extends SimpleRnn implements Directional, KeptWeights.Keeper {
    private static final long serialVersionUID = 1L;

    private final transient RecurrentPasses passes;
    private final transient RecurrentCalls calls = new RecurrentCalls(this, this::permuteIfNWC);
    private final transient TimeStepState betweenTimeSteps = new TimeStepState(() -> stateMap);

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
        return calls.sequences(input, maskArray, state);
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return calls.forward(sequences(Map.of()), training, null, workspaceMgr);
    }

    @Override
    public INDArray rnnTimeStep(INDArray input, LayerWorkspaceMgr workspaceMgr) {
        setInput(input, workspaceMgr);
        return calls.forward(sequences(stateMap), false, betweenTimeSteps, workspaceMgr);
    }

    @Override
    public Map<String, INDArray> rnnGetPreviousState() {
        betweenTimeSteps.seen();
        return super.rnnGetPreviousState();
    }

    @Override
    public INDArray rnnActivateUsingStoredState(
            INDArray input, boolean training, boolean storeLastForTBPTT, LayerWorkspaceMgr workspaceMgr) {
        setInput(input, workspaceMgr);
        return calls.forward(
                sequences(tBpttStateMap),
                training,
                storeLastForTBPTT ? RecurrentCalls.into(tBpttStateMap) : null,
                workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> tbpttBackpropGradient(
            INDArray epsilon, int tbpttBackLength, LayerWorkspaceMgr workspaceMgr) {
        // DL4J's layer begins its backward pass with a state of zeros.
        return calls.backward(sequences(Map.of()), epsilon, tbpttBackLength, null, workspaceMgr);
    }

    @Override
    public void clear() {
        super.clear();
        passes.forget();
    }

    @Override
    public KeptWeights keptWeights() {
        return passes.weights();
    }

    @Override
    public void close() {
        passes.close();
    }
}
