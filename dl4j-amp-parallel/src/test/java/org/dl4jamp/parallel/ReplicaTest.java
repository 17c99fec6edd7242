package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.MixedPrecision;
import org.junit.jupiter.api.Test;

class ReplicaTest {
    @Test
    void aListenerMayAskForStatesWhileAnotherThreadWaitsToCloseThem() throws Exception {
        MultiLayerNetwork net = (MultiLayerNetwork) Replicas.initialized(false);
        ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.AVERAGING);
        AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half());
        CountDownLatch inPass = new CountDownLatch(1);
        AtomicReference<Thread> closing = new AtomicReference<>();
        AtomicReference<List<ReplicaState>> states = new AtomicReference<>();
        net.setListeners(List.of(new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                inPass.countDown();
                // fit holds the network's monitor, for which close waits.
                while (closing.get() == null || closing.get().getState() != Thread.State.BLOCKED) {
                    Thread.onSpinWait();
                }
                states.set(amp.states());
            }
        }));
        CompletableFuture<Void> training = CompletableFuture.runAsync(
                () -> net.fit(Replicas.batches(1, 32, 1).get(0)));
        assertTrue(inPass.await(60, TimeUnit.SECONDS));
        CompletableFuture<Void> close = CompletableFuture.runAsync(() -> {
            closing.set(Thread.currentThread());
            amp.close();
        });
        CompletableFuture.allOf(training, close).get(60, TimeUnit.SECONDS);
        assertEquals(1, states.get().size());
        assertEquals(1, amp.states().get(0).stepsTaken() + amp.states().get(0).stepsSkipped());
        assertTrue(MixedPrecision.of(net).isEmpty());
    }
}
