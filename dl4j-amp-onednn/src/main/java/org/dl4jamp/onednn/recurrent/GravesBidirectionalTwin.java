package org.dl4jamp.onednn.recurrent;

import java.util.HashMap;
import java.util.Map;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * The twin of {@link GravesBidirectionalLSTM}: the sum of two LSTMs with peepholes. Its parameters are in the order of
 * those of a {@link Bidirectional}, under other names. DL4J's layer masks both directions, and it has neither dropout
 * nor a use for state.
 */
final class GravesBidirectionalTwin extends BidirectionalTwin {
    private static final long serialVersionUID = 1L;

    private final transient NeuralNetConfiguration ours;
    private final transient boolean nwc;
    private transient INDArray mask;
    private transient INDArray fitted;
    private final transient Map<String, INDArray> state = new HashMap<>();
    private final transient Map<String, INDArray> truncatedState = new HashMap<>();

    GravesBidirectionalTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(asBidirectional(conf), type, context);
        ours = conf;
        nwc = ((GravesBidirectionalLSTM) conf.getLayer()).getRnnDataFormat() == RNNFormat.NWC;
    }

    private static NeuralNetConfiguration asBidirectional(NeuralNetConfiguration conf) {
        GravesBidirectionalLSTM layer = (GravesBidirectionalLSTM) conf.getLayer();
        GravesLSTM direction = new GravesLSTM.Builder()
                .name(layer.getLayerName())
                .nIn(layer.getNIn())
                .nOut(layer.getNOut())
                .dataFormat(layer.getRnnDataFormat())
                .activation(layer.getActivationFn())
                .gateActivationFunction(layer.getGateActivationFn())
                .build();
        NeuralNetConfiguration own = conf.clone();
        own.setLayer(new Bidirectional(Bidirectional.Mode.ADD, direction));
        return own;
    }

    @Override
    String nameOf(String parameter, boolean ofForwards) {
        return parameter + (ofForwards ? "F" : "B");
    }

    /** Sets views of either rank, as DL4J's layer does. */
    @Override
    public void setBackpropGradientsViewArray(INDArray gradients) {
        super.setBackpropGradientsViewArray(gradients.reshape(gradients.length()));
    }

    @Override
    public void setMaskArray(INDArray given) {
        mask = given;
    }

    @Override
    public INDArray getMaskArray() {
        return mask;
    }

    @Override
    public void clear() {
        super.clear();
        mask = null;
        fitted = null;
    }

    /** Masks both directions. DL4J's layer reads a mask of more time steps as far as it needs. */
    private void fitMask() {
        INDArray input = input();
        fitted = mask;
        if (mask == null || input.rank() != 3) {
            super.setMaskArray(mask);
            return;
        }
        long steps = input.size(nwc ? 1 : 2);
        if (mask.rank() != 2 || mask.size(0) != input.size(0) || mask.size(1) < steps) {
            Rejection.ofMask(ours, params(), getIndex(), input, mask);
        }
        super.setMaskArray(
                mask.size(1) == steps ? mask : mask.get(NDArrayIndex.all(), NDArrayIndex.interval(0, steps)));
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        fitMask();
        return super.activate(training, workspaceMgr);
    }

    /** Masks both directions by the same arrays as in the forward pass, whose traces they keep for these. */
    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        if (mask != fitted) {
            fitMask();
        }
        return super.backpropGradient(epsilon, workspaceMgr);
    }

    /** Masks both directions, whether or not a layer in front has dealt with the mask. */
    @Override
    public Pair<INDArray, MaskState> feedForwardMaskArray(INDArray mask, MaskState current, int minibatchSize) {
        setMaskArray(mask);
        return new Pair<>(mask, MaskState.Active);
    }

    @Override
    public INDArray rnnTimeStep(INDArray input, LayerWorkspaceMgr workspaceMgr) {
        throw new UnsupportedOperationException(
                "you can not time step a bidirectional RNN, it has to run on a batch of data all at once " + layerId());
    }

    @Override
    public INDArray rnnActivateUsingStoredState(
            INDArray input, boolean training, boolean storeLastForTBPTT, LayerWorkspaceMgr workspaceMgr) {
        throw new UnsupportedOperationException(
                "Cannot set stored state: bidirectional RNNs don't have stored state " + layerId());
    }

    @Override
    public Pair<Gradient, INDArray> tbpttBackpropGradient(
            INDArray epsilon, int tbpttBackLength, LayerWorkspaceMgr workspaceMgr) {
        throw new UnsupportedOperationException(
                "Time step for bidirectional RNN not supported: it has to run on a batch of data all at once "
                        + layerId());
    }

    @Override
    public Map<String, INDArray> rnnGetPreviousState() {
        return new HashMap<>(state);
    }

    @Override
    public void rnnSetPreviousState(Map<String, INDArray> arrays) {
        state.clear();
        state.putAll(arrays);
    }

    @Override
    public Map<String, INDArray> rnnGetTBPTTState() {
        return new HashMap<>(truncatedState);
    }

    @Override
    public void rnnSetTBPTTState(Map<String, INDArray> arrays) {
        truncatedState.clear();
        truncatedState.putAll(arrays);
    }

    @Override
    public void rnnClearPreviousState() {
        state.clear();
        truncatedState.clear();
    }

    private String layerId() {
        String name = conf().getLayer().getLayerName();
        return "(layer name: " + (name == null ? "\"\"" : name) + ", layer index: " + getIndex()
                + ", layer type: GravesBidirectionalLSTM)";
    }
}
