package org.dl4jamp.randomized;

import java.util.List;
import net.jqwik.api.Example;
import net.jqwik.api.Tag;

/**
 * Random networks in two replicas of a ParallelWrapper, in FP32 on oneDNN, against two stock networks whose parameters
 * and updater states are averaged by hand.
 */
class RandomizedReplicasTest {
    @Example
    @Tag("long")
    void replicasInFp32AreStockNetworksAveragedByHand() {
        new RandomizedRun(new ReplicasPlaying(), List.of("onednn"), 60, 50).assertNoDifference();
    }
}
