package org.dl4jamp.layer;

import java.util.Map;
import java.util.function.Consumer;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.twin.Substitute;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * A layer that passes calls on to the network's own layer, the master, and sets masks, batch size, iterations and the
 * like of both master and twin. The cache mode is the master's only: what DL4J would cache between forward and backward
 * pass are FP32 arrays.
 */
abstract class PairedLayer extends BaseWrapperLayer implements Substitute<Layer>, RepeatedPart.Taker {
    private static final long serialVersionUID = 1L;

    private final transient Twin twin;
    private transient RepeatedPart repeated = RepeatedPart.NONE;
    private transient boolean replaced;
    /** The layer that has score and gradients: the master, or the one that took the last step of pretraining. */
    transient Layer scored = underlying;

    PairedLayer(Layer master, Twin twin) {
        super(master);
        this.twin = twin;
    }

    /** Returns the network's own layer, whose parameters are the master weights. */
    @Override
    public final Layer master() {
        return underlying;
    }

    /** Returns what computes in this layer's place. */
    public final Twin twin() {
        return twin;
    }

    @Override
    public final void takePart(RepeatedPart part) {
        repeated = part;
    }

    final RepeatedPart repeated() {
        return repeated;
    }

    /** Hands activations on that were computed at another layer's turn. */
    void handOn(INDArray activations) {
        // The next layer takes them as they are.
    }

    /** Returns whether the last forward pass was computed in the way in which this layer computes in most passes. */
    boolean computesAsAlways() {
        return true;
    }

    /** Returns this layer: networks look through a wrapper at what it wraps, and would compute in the master. */
    @Override
    public final Layer getUnderlying() {
        return this;
    }

    /** Sets whether another layer stands in this one's place. Call it while no thread is inside the gate. */
    public final void setReplaced(boolean replaced) {
        this.replaced = replaced;
    }

    final boolean isReplaced() {
        return replaced;
    }

    final Layer compute() {
        return twin.compute();
    }

    private void forTwin(Consumer<Layer> call) {
        if (compute() != master()) {
            call.accept(compute());
        }
    }

    @Override
    public void setMaskArray(INDArray maskArray) {
        // It multiplies the twin's output: the sums and the loss of an output layer, whose weights may be any number,
        // are FP32.
        DataType type = twin.outputType();
        boolean casts = maskArray != null
                && maskArray.dataType() != type
                && maskArray.dataType().isFPType();
        INDArray own = casts ? outsideWorkspaces(maskArray, type) : maskArray;
        super.setMaskArray(own);
        forTwin(layer -> layer.setMaskArray(own));
    }

    /** DL4J's MaskZeroLayer makes a mask of the type of what it masks, outside workspaces. */
    private static INDArray outsideWorkspaces(INDArray maskArray, DataType type) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return maskArray.castTo(type);
        }
    }

    @Override
    public Pair<INDArray, MaskState> feedForwardMaskArray(
            INDArray maskArray, MaskState currentMaskState, int minibatchSize) {
        forTwin(layer -> layer.feedForwardMaskArray(maskArray, currentMaskState, minibatchSize));
        return super.feedForwardMaskArray(maskArray, currentMaskState, minibatchSize);
    }

    @Override
    public void setInputMiniBatchSize(int size) {
        super.setInputMiniBatchSize(size);
        forTwin(layer -> layer.setInputMiniBatchSize(size));
    }

    @Override
    public void setIterationCount(int iterationCount) {
        super.setIterationCount(iterationCount);
        forTwin(layer -> layer.setIterationCount(iterationCount));
    }

    @Override
    public void setEpochCount(int epochCount) {
        super.setEpochCount(epochCount);
        forTwin(layer -> layer.setEpochCount(epochCount));
    }

    @Override
    public void allowInputModification(boolean allow) {
        super.allowInputModification(allow);
        forTwin(layer -> layer.allowInputModification(false));
    }

    @Override
    public void clearNoiseWeightParams() {
        super.clearNoiseWeightParams();
        forTwin(Layer::clearNoiseWeightParams);
    }

    @Override
    public void computeGradientAndScore(LayerWorkspaceMgr workspaceMgr) {
        scored = master();
        informedMaster().computeGradientAndScore(workspaceMgr);
    }

    @Override
    public double score() {
        return scored.score();
    }

    @Override
    public Gradient gradient() {
        return scored.gradient();
    }

    @Override
    public Pair<Gradient, Double> gradientAndScore() {
        return scored.gradientAndScore();
    }

    // DL4J's wrapper drops the argument.
    @Override
    public long numParams(boolean backwards) {
        return master().numParams(backwards);
    }

    // DL4J's wrapper does nothing.
    @Override
    public void close() {
        master().close();
    }

    /** Is called after parameters of the master have been set by one of its methods. */
    void parametersSet() {
        twin.weights().masterSet();
    }

    @Override
    public void update(Gradient gradient) {
        super.update(gradient);
        parametersSet();
    }

    @Override
    public void update(INDArray gradient, String paramType) {
        super.update(gradient, paramType);
        parametersSet();
    }

    @Override
    public void setParams(INDArray params) {
        super.setParams(params);
        parametersSet();
    }

    @Override
    public void setParamsViewArray(INDArray params) {
        super.setParamsViewArray(params);
        parametersSet();
    }

    @Override
    public void setParamTable(Map<String, INDArray> paramTable) {
        super.setParamTable(paramTable);
        parametersSet();
    }

    @Override
    public void setParam(String key, INDArray val) {
        super.setParam(key, val);
        parametersSet();
    }

    @Override
    public final boolean equals(Object other) {
        return this == other;
    }

    @Override
    public final int hashCode() {
        return System.identityHashCode(this);
    }

    @Override
    public final String toString() {
        return getClass().getName() + "@" + Integer.toHexString(hashCode());
    }
}
