package org.dl4jamp.onednn.recurrent;

import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.AbstractLSTM;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.SharedState;
import org.dl4jamp.onednn.cell.LastState;
import org.dl4jamp.onednn.cell.LstmCell;
import org.dl4jamp.onednn.cell.LstmInference;
import org.dl4jamp.onednn.cell.RecurrentCell;
import org.dl4jamp.onednn.cell.RecurrentParameters;
import org.dl4jamp.onednn.cell.RecurrentState;
import org.dl4jamp.onednn.cell.Sequences;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.Noise;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.base.Preconditions;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A recurrent layer over the FP32 master weights, which it rounds itself. Gradients of the parameters are FP32, and so
 * is the state between sequences, which is DL4J's own. Its cell makes it an LSTM or a simple RNN.
 */
final class RecurrentTwin extends BaseRecurrentLayer<org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer>
        implements Twin.OptionalInputGradient, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient RecurrentPasses passes;
    private final transient TimeStepState betweenTimeSteps = new TimeStepState(() -> stateMap);
    private final boolean isLstm;
    private final boolean hasPeepholes;

    /** @param gates how many numbers a unit computes of its input */
    RecurrentTwin(
            NeuralNetConfiguration conf,
            DataType type,
            OneDnnContext context,
            int gates,
            Function<RecurrentCell.Setup, RecurrentCell> cells) {
        super(conf, type);
        this.stateMap = SharedState.of(stateMap);
        this.isLstm = layerConf() instanceof AbstractLSTM;
        this.hasPeepholes = LstmCell.hasPeepholes(layerConf());
        this.passes = new RecurrentPasses(
                context,
                type,
                gates,
                (shape, weights) -> cells.apply(new RecurrentCell.Setup(context, layerId(), type, shape, weights)),
                layerConf() instanceof AbstractLSTM lstm && !Noise.changesBiases(lstm)
                        ? LstmInference.of(context, this::layerId, type, lstm)
                        : Optional.empty());
    }

    /** Returns its passes, which a bidirectional layer runs itself. */
    RecurrentPasses passes() {
        return passes;
    }

    long units() {
        return layerConf().getNOut();
    }

    /** Returns sequences {@code [minibatch, nIn, time]} that begin with a state of zeros. */
    private Sequences fromZero(INDArray sequences, boolean training, boolean backward, LayerWorkspaceMgr workspaceMgr) {
        RecurrentParameters parameters = parameters(training, backward, workspaceMgr);
        return new Sequences(sequences, maskArray, RecurrentState.ZERO, parameters);
    }

    /** Returns the parameters with weight noise. */
    private RecurrentParameters parameters(boolean training, boolean backward, LayerWorkspaceMgr workspaceMgr) {
        return RecurrentParameters.of(
                Noise.drawn(layerConf(), params, name -> getParamWithNoise(name, training, workspaceMgr), backward));
    }

    /** Views that take the parameters' gradients. */
    RecurrentParameters gradients() {
        return RecurrentParameters.of(gradientViews);
    }

    /** Returns the input, and the state before it. */
    private Sequences sequences(Map<String, INDArray> state, RecurrentParameters parameters) {
        assertInputSet(false);
        Preconditions.checkState(input.rank() == 3, "3D input expected to RNN layer expected, got " + input.rank());
        return new Sequences(permuteIfNWC(input), maskArray, RecurrentState.in(state), parameters);
    }

    /** Returns the outputs of {@code [minibatch, nIn, time]} for a layer of two directions. */
    INDArray outputs(INDArray sequences, boolean training, LayerWorkspaceMgr workspaceMgr) {
        return passes.outputs(fromZero(sequences, training, false, workspaceMgr), training, null, workspaceMgr);
    }

    /** Computes the gradients of the parameters, and returns that of the input in working memory. */
    INDArray inputGradient(INDArray sequences, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray next = passes.backward(
                fromZero(sequences, true, true, workspaceMgr),
                epsilon,
                -1,
                gradients(),
                null,
                workspaceMgr,
                ArrayType.BP_WORKING_MEM);
        clearNoiseWeightParams();
        return next;
    }

    private INDArray forward(
            Map<String, INDArray> state, boolean training, LastState after, LayerWorkspaceMgr workspaceMgr) {
        RecurrentParameters parameters = parameters(training, false, workspaceMgr);
        return permuteIfNWC(passes.forward(sequences(state, parameters), training, after, workspaceMgr));
    }

    private Pair<Gradient, INDArray> backward(
            Map<String, INDArray> state, INDArray epsilon, int steps, LastState after, LayerWorkspaceMgr workspaceMgr) {
        RecurrentParameters gradients = gradients();
        RecurrentParameters parameters = parameters(true, true, workspaceMgr);
        INDArray next = passes.backward(
                sequences(state, parameters),
                permuteIfNWC(epsilon),
                steps,
                gradients,
                after,
                workspaceMgr,
                ArrayType.ACTIVATION_GRAD);
        clearNoiseWeightParams();
        return new Pair<>(gradients.asGradient(), permuteIfNWC(next));
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return forward(Map.of(), training, null, workspaceMgr);
    }

    @Override
    public INDArray rnnTimeStep(INDArray input, LayerWorkspaceMgr workspaceMgr) {
        setInput(input, workspaceMgr);
        return forward(stateMap, false, betweenTimeSteps, workspaceMgr);
    }

    /** Begins with the state that DL4J's layer begins with: with peepholes, with that of {@link #rnnTimeStep}. */
    @Override
    public INDArray rnnActivateUsingStoredState(
            INDArray input, boolean training, boolean storeLastForTBPTT, LayerWorkspaceMgr workspaceMgr) {
        setInput(input, workspaceMgr);
        LastState after = last -> last.putInto(tBpttStateMap);
        Map<String, INDArray> before = hasPeepholes ? stateMap : tBpttStateMap;
        return forward(before, training, storeLastForTBPTT ? after : null, workspaceMgr);
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        return backward(Map.of(), epsilon, -1, null, workspaceMgr);
    }

    /**
     * Runs a backward pass of truncated BPTT, for which the networks copy the state to the other map after each
     * segment: an LSTM's segment began there. DL4J's simple RNN begins its backward pass with a state of zeros.
     */
    @Override
    public Pair<Gradient, INDArray> tbpttBackpropGradient(
            INDArray epsilon, int tbpttBackLength, LayerWorkspaceMgr workspaceMgr) {
        return isLstm
                ? backward(stateMap, epsilon, tbpttBackLength, last -> last.putInto(tBpttStateMap), workspaceMgr)
                : backward(Map.of(), epsilon, tbpttBackLength, null, workspaceMgr);
    }

    /** Takes a network's mask for a simple RNN only, as in DL4J. */
    @Override
    public Pair<INDArray, MaskState> feedForwardMaskArray(INDArray mask, MaskState state, int minibatchSize) {
        return isLstm
                ? new Pair<>(mask, MaskState.Passthrough)
                : super.feedForwardMaskArray(mask, state, minibatchSize);
    }

    @Override
    public boolean isPretrainLayer() {
        return false;
    }

    @Override
    public void spareInputGradient(boolean unwanted) {
        passes.spareInputGradient(unwanted);
    }

    @Override
    public void clear() {
        super.clear();
        passes.forget();
    }

    @Override
    public Twin.Weights keptWeights() {
        return passes.weights();
    }

    @Override
    public void close() {
        passes.close();
    }
}
