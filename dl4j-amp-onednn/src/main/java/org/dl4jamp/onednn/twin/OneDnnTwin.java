package org.dl4jamp.onednn.twin;

import org.deeplearning4j.nn.api.Layer;
import org.dl4jamp.onednn.memory.ResultPlace;
import org.dl4jamp.twin.Twin;

/** This engine's twin of a layer. */
public interface OneDnnTwin extends AutoCloseable {
    /** Marks the output as unchanged until the backward pass, so that it may be read again; called at most once. */
    default void outputStays() {}

    /** Gives the twin the network's own layer, for state that DL4J keeps there; called once, before all passes. */
    default void replaces(Layer master) {}

    /**
     * Makes the twin lend the gradient of its input, where it can; called once, if the layer before it returns the
     * gradient unchanged or is its last reader.
     */
    default void lendInputGradient() {}

    /** Sets where the output may go in inference; called at most once. */
    default void placeOutput(ResultPlace place) {}

    /**
     * Returns the copies of its weights, which {@link Twin.Weights#refresh} marks as stale. Inference makes them once:
     * they count until the parameters change. In training they're made anew before each pass.
     */
    default Twin.Weights keptWeights() {
        return Twin.Weights.MASTER;
    }

    /** Returns the copies of two. */
    static Twin.Weights both(Twin.Weights one, Twin.Weights other) {
        return new Twin.Weights() {
            @Override
            public void refresh() {
                one.refresh();
                other.refresh();
            }
        };
    }
}
