package org.dl4jamp.layer;

import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.RecurrentLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.twin.Gate;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A {@link TwinLayer} for recurrent layers. The state between time steps and between segments of truncated BPTT is the
 * twin's, in FP32.
 */
public final class RecurrentTwinLayer extends TwinLayer implements RecurrentLayer {
    private static final long serialVersionUID = 1L;

    /** One way of running a layer forward that keeps its state. */
    private interface Steps {
        INDArray run(RecurrentLayer layer, INDArray input, LayerWorkspaceMgr workspaceMgr);
    }

    RecurrentTwinLayer(TwinSetup setup) {
        super(setup);
    }

    /** Returns whether a layer keeps state between time steps, itself or through what it wraps. */
    static boolean isRecurrent(Layer layer) {
        return layer instanceof RecurrentLayer
                || (layer instanceof BaseWrapperLayer wrapper && wrapper.getUnderlying() instanceof RecurrentLayer);
    }

    private RecurrentLayer recurrent() {
        return recurrent(compute());
    }

    private static RecurrentLayer recurrent(Layer layer) {
        return layer instanceof BaseWrapperLayer wrapper
                ? (RecurrentLayer) wrapper.getUnderlying()
                : (RecurrentLayer) layer;
    }

    @Override
    public INDArray rnnTimeStep(INDArray given, LayerWorkspaceMgr workspaceMgr) {
        return forward(given, false, workspaceMgr, RecurrentLayer::rnnTimeStep);
    }

    private static void copyState(RecurrentLayer from, RecurrentLayer to) {
        to.rnnSetPreviousState(from.rnnGetPreviousState());
        to.rnnSetTBPTTState(from.rnnGetTBPTTState());
    }

    @Override
    public INDArray rnnActivateUsingStoredState(
            INDArray given, boolean training, boolean storeLastForTBPTT, LayerWorkspaceMgr workspaceMgr) {
        return forward(
                given,
                training,
                workspaceMgr,
                (layer, input, inner) -> layer.rnnActivateUsingStoredState(input, training, storeLastForTBPTT, inner));
    }

    private INDArray forward(INDArray given, boolean training, LayerWorkspaceMgr workspaceMgr, Steps steps) {
        try (Gate.Inside inside = enterGiven()) {
            setInput(given, workspaceMgr);
            return forward(
                    training,
                    workspaceMgr,
                    inner -> steps.run(recurrent(), compute().input(), inner),
                    own -> steps.run(recurrent(master()), given, own),
                    inner -> runMaster(steps, inner));
        }
    }

    /** Returns what the master computes, with the state that the twin has and gets back. */
    private INDArray runMaster(Steps steps, LayerWorkspaceMgr inner) {
        RecurrentLayer master = recurrent(master());
        copyState(recurrent(), master);
        INDArray result = steps.run(master, master().input(), inner);
        copyState(master, recurrent());
        return result;
    }

    @Override
    public Pair<Gradient, INDArray> tbpttBackpropGradient(
            INDArray epsilon, int tbpttBackLength, LayerWorkspaceMgr workspaceMgr) {
        return backward(
                epsilon,
                workspaceMgr,
                (gradient, inner) -> recurrent().tbpttBackpropGradient(gradient, tbpttBackLength, inner),
                (gradient, inner) -> recurrent(master()).tbpttBackpropGradient(gradient, tbpttBackLength, inner));
    }

    @Override
    public Map<String, INDArray> rnnGetPreviousState() {
        return recurrent().rnnGetPreviousState();
    }

    @Override
    public void rnnSetPreviousState(Map<String, INDArray> stateMap) {
        recurrent().rnnSetPreviousState(stateMap);
    }

    @Override
    public void rnnClearPreviousState() {
        recurrent().rnnClearPreviousState();
    }

    @Override
    public Map<String, INDArray> rnnGetTBPTTState() {
        return recurrent().rnnGetTBPTTState();
    }

    @Override
    public void rnnSetTBPTTState(Map<String, INDArray> state) {
        recurrent().rnnSetTBPTTState(state);
    }
}
