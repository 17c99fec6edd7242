package org.dl4jamp.onednn.weights;

import org.dl4jamp.twin.Twin;

/**
 * A twin's copies of its weights, which inference makes once: they count until the parameters change. In training
 * they're made anew before each pass.
 */
public interface KeptWeights extends Twin.Weights {
    /** A twin that can keep them. */
    interface Keeper {
        KeptWeights keptWeights();
    }

    /** Returns the copies of two. */
    static KeptWeights both(KeptWeights one, KeptWeights other) {
        return new KeptWeights() {
            @Override
            public void keep() {
                one.keep();
                other.keep();
            }

            @Override
            public void outdate() {
                one.outdate();
                other.outdate();
            }
        };
    }

    /** Keeps them from now on. */
    void keep();

    /** Marks them as stale, after a change of parameters. */
    void outdate();

    @Override
    default void refresh() {
        outdate();
    }
}
