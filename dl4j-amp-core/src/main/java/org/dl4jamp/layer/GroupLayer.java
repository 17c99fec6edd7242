package org.dl4jamp.layer;

import java.util.function.Consumer;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A wrapper of a layer that inference computes together with its neighbours in the passes where that's right, and by
 * itself in the others.
 */
public final class GroupLayer extends TwinLayer {
    private static final long serialVersionUID = 1L;

    /** The layer's part in its group. */
    public interface Membership {
        /**
         * Returns whether the group's twin computes the layer in this pass, with the input that the network has set.
         */
        boolean isTogether(INDArray given);

        /** Called with the layer's output when it was computed together with the others. */
        void handsOn(INDArray activations);
    }

    private final transient Membership membership;
    private final transient Supplier<TwinLayer> maker;
    private transient TwinLayer alone;
    private transient boolean together;

    /**
     * @param setup with the group's twin
     * @param alone makes the wrapper that computes the layer by itself, when it's needed for the first time
     */
    public GroupLayer(TwinSetup setup, Membership membership, Supplier<TwinLayer> alone) {
        super(setup);
        this.membership = membership;
        this.maker = alone;
    }

    @Override
    void handOn(INDArray activations) {
        membership.handsOn(activations);
    }

    @Override
    boolean computesAsAlways() {
        return together;
    }

    @Override
    INDArray compute(boolean training, LayerWorkspaceMgr workspaceMgr, TwinPasses.Forward computation) {
        INDArray given = input();
        together = given == null || membership.isTogether(given);
        if (!together) {
            return computeAlone(given, training, workspaceMgr);
        }
        INDArray activations = super.compute(training, workspaceMgr, computation);
        membership.handsOn(activations);
        return activations;
    }

    private INDArray computeAlone(INDArray given, boolean training, LayerWorkspaceMgr workspaceMgr) {
        if (alone == null) {
            alone = maker.get();
            alone.setMaskArray(getMaskArray());
        }
        alone.setInput(given, workspaceMgr);
        return alone.activate(training, workspaceMgr);
    }

    private void ifAlone(Consumer<TwinLayer> call) {
        if (alone != null) {
            call.accept(alone);
        }
    }

    @Override
    public void setMaskArray(INDArray maskArray) {
        super.setMaskArray(maskArray);
        ifAlone(layer -> layer.setMaskArray(maskArray));
    }

    @Override
    public Pair<INDArray, MaskState> feedForwardMaskArray(
            INDArray maskArray, MaskState currentMaskState, int minibatchSize) {
        ifAlone(layer -> layer.feedForwardMaskArray(maskArray, currentMaskState, minibatchSize));
        return super.feedForwardMaskArray(maskArray, currentMaskState, minibatchSize);
    }

    @Override
    void parametersSet() {
        super.parametersSet();
        ifAlone(TwinLayer::parametersSet);
    }

    @Override
    public void clear() {
        super.clear();
        ifAlone(TwinLayer::clear);
    }
}
