package org.dl4jamp.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.deeplearning4j.parallelism.factory.DefaultTrainerContext;
import org.deeplearning4j.parallelism.factory.TrainerContext;
import org.deeplearning4j.parallelism.inference.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.Pause;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.nd4j.linalg.api.ndarray.INDArray;

// In a thread of its own: DL4J's waiting can't be interrupted.
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class InstallingTest {
    private final Model net = Replicas.initialized(false);
    private final ParallelWrapper wrapper = Replicas.wrapper(net, 2, TrainingMode.AVERAGING);
    private final TrainerContext dl4js = wrapper.getTrainerContext();

    private void refused(Executable call, String... parts) {
        AmpException e = assertThrows(AmpException.class, call);
        for (String part : parts) {
            assertTrue(e.getMessage().contains(part), e::getMessage);
        }
        assertSame(dl4js, wrapper.getTrainerContext());
        assertTrue(MixedPrecision.of(net).isEmpty());
    }

    @Test
    void nullIsNamed() {
        refused(() -> AmpReplicas.installIn(null), "wrapper: null", "ParallelWrapper.Builder.build()");
        refused(() -> AmpReplicas.installIn(wrapper, null), "config: null", "an AmpConfig");
        refused(() -> AmpInference.builder(null), "model: null", "MultiLayerNetwork");
        refused(() -> AmpInference.builder(net).inferenceMode(null), "inferenceMode: null", "INPLACE");
    }

    @Test
    void aWrapperThatHasBeenFittedIsRefused() {
        wrapper.fit(Replicas.iterator(Replicas.batches(4, 8, 1)));
        refused(() -> AmpReplicas.installIn(wrapper), "it has been fitted before, for 2 iterations", "in a new one");
    }

    @Test
    void aWrapperThatWasStoppedIsRefused() throws Exception {
        wrapper.close();
        refused(() -> AmpReplicas.installIn(wrapper), "it has been stopped", "in a new one");
    }

    @Test
    void aWrapperInItsFitIsRefused() {
        AtomicReference<AmpException> thrown = new AtomicReference<>();
        wrapper.setListeners(new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                thrown.set(assertThrows(AmpException.class, () -> AmpReplicas.installIn(wrapper)));
            }
        });
        wrapper.fit(Replicas.iterator(Replicas.batches(4, 8, 1)));
        assertTrue(thrown.get().getMessage().contains("it's in a fit"), thrown.get()::getMessage);
    }

    @Test
    void replicasAreNotClosedWithinAFit() {
        AtomicReference<AmpException> thrown = new AtomicReference<>();
        AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half());
        wrapper.setListeners(new BaseTrainingListener() {
            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                thrown.set(assertThrows(AmpException.class, amp::close));
            }
        });
        wrapper.fit(Replicas.iterator(Replicas.batches(4, 8, 1)));
        assertTrue(thrown.get().getMessage().contains("in a fit"), thrown.get()::getMessage);
        assertEquals(2, amp.states().size());
        amp.close();
        assertSame(dl4js, wrapper.getTrainerContext());
    }

    @Test
    void aFitInAPauseIsRefusedAndOneAfterItTrains() {
        try (AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half())) {
            INDArray before = net.params().dup();
            MixedPrecision ofSource = MixedPrecision.of(net).orElseThrow();
            try (Pause fp32 = ofSource.pause()) {
                AmpException e = assertThrows(
                        AmpException.class, () -> wrapper.fit(Replicas.iterator(Replicas.batches(4, 8, 1))));
                assertTrue(e.getMessage().contains("close the pause before fit"), e::getMessage);
            }
            assertEquals(before, net.params());
            wrapper.fit(Replicas.iterator(Replicas.batches(4, 8, 1)));
            assertEquals(
                    List.of(2L, 2L),
                    amp.states().stream()
                            .map(state -> state.stepsTaken() + state.stepsSkipped())
                            .toList());
        }
    }

    @Test
    void aPauseThatAListenerBeginsIsThatOfItsReplicaAlone() {
        try (AmpReplicas amp = AmpReplicas.installIn(wrapper, Replicas.half())) {
            List<Boolean> others = new CopyOnWriteArrayList<>();
            wrapper.setListeners(new BaseTrainingListener() {
                @Override
                public void iterationDone(Model model, int iteration, int epoch) {
                    MixedPrecision mine = MixedPrecision.of(model).orElseThrow();
                    if (model == net) {
                        try (Pause fp32 = mine.pause()) {
                            assertTrue(mine.isPaused());
                        }
                    } else {
                        others.add(mine.isPaused());
                    }
                }
            });
            wrapper.fit(Replicas.iterator(Replicas.batches(8, 8, 1)));
            assertEquals(List.of(false, false, false, false), others);
        }
    }

    @Test
    void itIsInstalledOnce() {
        try (AmpReplicas amp = AmpReplicas.installIn(wrapper)) {
            AmpException e = assertThrows(AmpException.class, () -> AmpReplicas.installIn(wrapper));
            assertTrue(e.getMessage().contains("installed in it already"), e::getMessage);
            assertEquals(1, amp.states().size());
        }
        AmpReplicas.installIn(wrapper).close();
    }

    @Test
    void trainersOfSomebodyElsesAreRefused() {
        TrainerContext others = new DefaultTrainerContext() {};
        wrapper.setTrainerContext(others);
        AmpException e = assertThrows(AmpException.class, () -> AmpReplicas.installIn(wrapper));
        assertTrue(e.getMessage().contains(others.getClass().getName()), e::getMessage);
        assertSame(others, wrapper.getTrainerContext());
    }

    @Test
    void otherSettingsThanThoseInForceAreRefused() {
        try (MixedPrecision own = MixedPrecision.enable((MultiLayerNetwork) net, Replicas.half())) {
            AmpException e =
                    assertThrows(AmpException.class, () -> AmpReplicas.installIn(wrapper, AmpConfig.defaults()));
            assertTrue(
                    e.getMessage()
                            .startsWith("config: the wrapper's network is in mixed precision already, with "
                                    + own.config()),
                    e::getMessage);
            AmpReplicas.installIn(wrapper, Replicas.half()).close();
            assertSame(own, MixedPrecision.of(net).orElseThrow());
        }
    }

    @Test
    void oneScalerForAllReplicasIsRefused() {
        AmpConfig shared = AmpConfig.builder()
                .sharedLossScale(new SharedLossScale(DynamicLossScaler.builder().build()))
                .build();
        refused(() -> AmpReplicas.installIn(wrapper, shared), "sharedLossScale", "agreedScale()");
    }

    @Test
    void averagingInTheMiddleOfAGroupIsRefused() {
        AmpConfig collecting = AmpConfig.builder().accumulate(2).build();
        refused(
                () -> AmpReplicas.installIn(wrapper, collecting),
                "accumulate(2)",
                "averages after 1",
                "averagingFrequency(2)");
        MultiLayerNetwork carrying = Networks.init(MixedPrecision.configure(Replicas.layers(), collecting));
        refused(
                () -> AmpReplicas.installIn(Replicas.wrapper(carrying, 2, TrainingMode.AVERAGING)),
                "averagingFrequency(2)");
        assertTrue(MixedPrecision.of(carrying).isEmpty());
    }

    @Test
    void settingsThatTheNetworkCantHaveAreRefused() {
        refused(
                () -> AmpReplicas.installIn(
                        wrapper, AmpConfig.builder().keepFull("nosuch").build()),
                "the rule keepFull(\"nosuch\") matches no layer");
    }

    @Test
    void numbersBelowOneAreRefused() {
        refused(() -> AmpReplicas.builder(wrapper).threadsPerReplica(0), "threadsPerReplica(0)", "at least 1");
        refused(() -> AmpInference.builder(net).workers(0), "workers(0)", "at least 1");
        refused(() -> AmpInference.builder(net).batchLimit(-1), "batchLimit(-1)", "at least 1");
        refused(() -> AmpInference.builder(net).queueLimit(0), "queueLimit(0)", "at least 1");
    }

    @Test
    void anInferenceThatWasShutDownSaysSo() {
        var inference = AmpInference.builder(net)
                .inferenceMode(InferenceMode.SEQUENTIAL)
                .build();
        inference.shutdown();
        inference.shutdown();
        AmpException e = assertThrows(
                AmpException.class,
                () -> inference.output(Replicas.batches(1, 2, 1).get(0).getFeatures()));
        assertTrue(e.getMessage().contains("shut down"), e::getMessage);
    }
}
