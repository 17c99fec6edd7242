package org.dl4jamp.randomized;

import java.util.List;
import net.jqwik.api.Example;

/**
 * Random networks in two replicas of a ParallelWrapper, in FP32 on oneDNN, against two stock networks whose parameters
 * and updater states are averaged by hand.
 */
class RandomizedReplicasTest {
    @Example
    void replicasInFp32AreStockNetworksAveragedByHand() {
        new RandomizedRun(new ReplicasPlaying(), List.of("onednn"), 60, 20).assertNoDifference();
    }
}
