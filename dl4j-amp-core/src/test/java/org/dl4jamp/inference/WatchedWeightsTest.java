package org.dl4jamp.inference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.dl4jamp.twin.Twin;
import org.junit.jupiter.api.Test;

class WatchedWeightsTest {
    private final MultiLayerNetwork network = Networks.init(Networks.mlp());
    private final List<String> done = new ArrayList<>();
    private Runnable meanwhile = () -> {};
    private final WatchedWeights weights = new WatchedWeights(
            new Twin.Weights() {
                @Override
                public void refresh() {
                    done.add("refreshed");
                    meanwhile.run();
                }

                @Override
                public void reload() {
                    done.add("reloaded");
                }

                @Override
                public void stepDone() {
                    throw new AssertionError("a step in inference mode");
                }
            },
            () -> done.add("prepared"),
            List.of(network.getLayer(0)));

    @Test
    void weightsAreTakenOverOnceAndAgainWhenParametersHaveBeenSet() {
        weights.refresh();
        weights.refresh();
        assertEquals(List.of("prepared", "refreshed"), done);
        weights.masterSet();
        weights.masterSet();
        weights.refresh();
        weights.refresh();
        assertEquals(List.of("prepared", "refreshed", "prepared", "refreshed"), done);
        network.getLayer(0).params().muli(2);
        weights.refresh();
        assertEquals(6, done.size());
    }

    /** As by another thread, while the first one copies weights. */
    @Test
    void whatIsSetWhileWeightsAreTakenOverCountsInTheNextPass() {
        meanwhile = weights::masterSet;
        weights.refresh();
        meanwhile = () -> {};
        weights.refresh();
        assertEquals(4, done.size(), "taken over once more");
        weights.refresh();
        assertEquals(4, done.size());
    }

    @Test
    void weightsThatCouldNotBeTakenOverAreTakenOverInTheNextPass() {
        meanwhile = () -> {
            throw new IllegalStateException("no memory");
        };
        assertThrows(IllegalStateException.class, weights::refresh);
        meanwhile = () -> {};
        weights.refresh();
        assertEquals(4, done.size());
    }
}
