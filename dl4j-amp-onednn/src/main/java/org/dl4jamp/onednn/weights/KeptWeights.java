package org.dl4jamp.onednn.weights;

import org.dl4jamp.twin.Twin;

/**
 * A twin that copies its weights. Inference makes the copies once: they count until the parameters change. In training
 * they're made anew before each pass.
 */
public interface KeptWeights {
    /** Returns the copies, which {@link Twin.Weights#refresh} marks as stale. */
    Twin.Weights keptWeights();

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
