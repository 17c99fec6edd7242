package org.dl4jamp.layer;

import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The part of a layer or vertex in passes of inference that an engine repeats as a whole, at the first layer's turn.
 */
public interface RepeatedPart {
    /** A wrapper that takes part in repeated passes. */
    interface Taker {
        /** Sets its part. */
        void takePart(RepeatedPart part);
    }

    /** The part of what is never repeated. */
    RepeatedPart NONE = new RepeatedPart() {
        @Override
        public INDArray repeated(INDArray given, boolean training, LayerWorkspaceMgr workspaceMgr) {
            return null;
        }

        @Override
        public void leftToDl4j() {
            // It's never repeated.
        }

        @Override
        public void computed(INDArray given, INDArray result, boolean byTwin) {
            // It's never repeated.
        }
    };

    /**
     * Returns the activations if this pass is repeated; null if they have to be computed.
     *
     * @param given the input, or for a sum one of its inputs
     */
    INDArray repeated(INDArray given, boolean training, LayerWorkspaceMgr workspaceMgr);

    /** Takes note that DL4J computes this pass. */
    void leftToDl4j();

    /**
     * Takes note of activations that were computed.
     *
     * @param given the input, or for a sum one of its inputs
     * @param byTwin whether the twin has computed them in the way in which it always does
     */
    void computed(INDArray given, INDArray result, boolean byTwin);
}
