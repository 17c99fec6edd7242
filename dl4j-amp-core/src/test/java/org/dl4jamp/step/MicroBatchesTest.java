package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.dl4jamp.OwnMeans;
import org.dl4jamp.gradient.GradientGroup.WaitingGroup;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Sgd;

/** Steps of several micro-batches beside stock DL4J's step of all their examples. */
class MicroBatchesTest {
    private static final GradientTerms PLAIN = SmallSteps.group(1, false);
    private final DynamicLossScaler scaler =
            DynamicLossScaler.builder().initialScale(1024).build();
    private final DataSet data = SmallSteps.data(6);

    @Test
    void severalMicroBatchesAreTheStepOfTheirWhole() {
        for (IUpdater updater : new IUpdater[] {new Sgd(0.5), new Adam(0.1)}) {
            MultiLayerNetwork stock = SmallSteps.network(updater);
            MultiLayerNetwork network = SmallSteps.network(updater);
            TrainingStep step = SmallSteps.install(network, scaler, SmallSteps.group(3, false));
            for (int i = 0; i < 2; i++) {
                INDArray before = network.params().dup();
                stock.fit(data);
                network.fit(SmallSteps.examples(data, 0, 3));
                assertTrue(step.skippedLastStep());
                network.fit(SmallSteps.examples(data, 3, 5));
                assertEquals(before, network.params());
                assertEquals(2, step.waiting().orElseThrow().microBatches());
                network.fit(SmallSteps.examples(data, 5, 6));
                SmallSteps.assertLearnedAlike(stock, network);
                assertFalse(step.skippedLastStep());
                assertEquals(Optional.empty(), step.waiting());
            }
            assertEquals(new StepCounts(2, 0, 0, 4), step.counts());
            assertTrue(step.gradientNorm().isPresent());
        }
        assertEquals(4, scaler.state().growthTracker());
    }

    @Test
    void aFailedMicroBatchFailsItsGroupAndNoOther() {
        MultiLayerNetwork stock = SmallSteps.network(new Adam(0.1));
        MultiLayerNetwork network = SmallSteps.network(new Adam(0.1));
        TrainingStep step = SmallSteps.install(network, scaler, SmallSteps.group(2, false));
        INDArray before = network.params().dup();
        for (int failed = 0; failed < 2; failed++) {
            network.fit(failed == 0 ? SmallSteps.spoiled(data) : data);
            network.fit(failed == 1 ? SmallSteps.spoiled(data) : data);
            assertEquals(before, network.params());
            assertEquals(failed + 1, step.counts().skipped());
        }
        stock.fit(data);
        network.fit(SmallSteps.examples(data, 0, 3));
        network.fit(SmallSteps.examples(data, 3, 6));
        SmallSteps.assertLearnedAlike(stock, network);
        assertEquals(new StepCounts(1, 2, 0, 3), step.counts());
    }

    @Test
    void aGroupThatEndsEarlyIsTheStepOfItsExamples() {
        MultiLayerNetwork stock = SmallSteps.network(new Adam(0.1));
        MultiLayerNetwork network = SmallSteps.network(new Adam(0.1));
        TrainingStep step = SmallSteps.install(network, scaler, SmallSteps.group(3, false));
        assertFalse(step.applyGroup());
        network.fit(SmallSteps.examples(data, 0, 2));
        network.fit(SmallSteps.examples(data, 2, 6));
        assertTrue(step.applyGroup());
        assertFalse(step.applyGroup());
        stock.fit(data);
        SmallSteps.assertLearnedAlike(stock, network);
        assertEquals(new StepCounts(1, 0, 0, 1), step.counts());
        assertFalse(step.skippedLastStep());
        stock.fit(data);
        network.fit(data);
        assertTrue(step.applyGroup());
        SmallSteps.assertLearnedAlike(stock, network);
        network.fit(SmallSteps.spoiled(data));
        assertTrue(step.applyGroup());
        SmallSteps.assertLearnedAlike(stock, network);
        assertEquals(1, step.counts().skipped());
    }

    @Test
    void aGroupThatEndsEarlyIsNormalizedAsItsLayersAreSetTo() {
        for (boolean graph : new boolean[] {false, true}) {
            Model stock = normalizedByLayer(graph);
            Model network = normalizedByLayer(graph);
            TrainingStep step = SmallSteps.install(network, scaler, SmallSteps.group(2, false));
            SmallSteps.fit(stock, data);
            SmallSteps.fit(network, data);
            assertTrue(step.applyGroup());
            SmallSteps.assertLearnedAlike(stock, network);
        }
    }

    private static Model normalizedByLayer(boolean graph) {
        MultiLayerNetwork network = SmallSteps.network(
                new Sgd(0.5),
                conf -> conf.gradientNormalization(GradientNormalization.RenormalizeL2PerLayer),
                Networks.dense(4, Activation.TANH));
        return graph ? network.toComputationGraph() : network;
    }

    @Test
    void anUpdaterThatWasReplacedIsBackForAPartialGroup() {
        MultiLayerNetwork network = SmallSteps.network(new Adam(0.1));
        TrainingStep step = SmallSteps.install(network, scaler, SmallSteps.group(2, false));
        network.fit(data);
        network.setUpdater(AmpNetwork.of(network).plainUpdater(null));
        INDArray state = SmallSteps.updater(network).getStateViewArray();
        assertTrue(step.applyGroup());
        assertEquals(Optional.of(step), TrainingStep.of(SmallSteps.updater(network)));
        assertTrue(AmpUpdate.isSameMemory(state, SmallSteps.updater(network).getStateViewArray()));
        assertTrue(state.norm2Number().doubleValue() > 0, "the moments of that step");
    }

    @Test
    void theEndOfAnEpochMakesAStepOfAPartialGroup() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(0.5));
        MultiLayerNetwork stock = SmallSteps.network(new Sgd(0.5));
        TrainingStep step = SmallSteps.install(network, scaler, SmallSteps.group(3, true));
        assertEquals(1, network.getListeners().size());
        network.setListeners(List.of());
        network.fit(data);
        assertEquals(1, network.getListeners().size(), "back again");
        AmpNetwork.of(network).listeners().forEach(listener -> listener.onEpochEnd(network));
        stock.fit(data);
        SmallSteps.assertLearnedAlike(stock, network);
        assertEquals(1, step.counts().taken());
        step.removeUpdater();
        assertEquals(0, network.getListeners().size());
        assertFalse(network.getUpdater() == step.updater.updater);
    }

    @Test
    void withoutPartialGroupsThereIsNoListener() {
        for (GradientTerms terms : List.of(SmallSteps.group(1, true), SmallSteps.group(3, false))) {
            MultiLayerNetwork network = SmallSteps.network(new Sgd(0.5));
            SmallSteps.install(network, scaler, terms);
            assertEquals(0, network.getListeners().size());
        }
    }

    @Test
    void whatWaitsGoesOnInAnotherProcess() {
        MultiLayerNetwork stock = SmallSteps.network(new Adam(0.1));
        MultiLayerNetwork first = SmallSteps.network(new Adam(0.1));
        TrainingStep before = SmallSteps.install(first, scaler, SmallSteps.group(2, false));
        first.fit(SmallSteps.examples(data, 0, 4));
        MultiLayerNetwork second = SmallSteps.network(new Adam(0.1));
        DynamicLossScaler restored = DynamicLossScaler.builder().build();
        TrainingStep after = SmallSteps.install(second, restored, SmallSteps.group(2, false));
        after.restore(before.counts());
        after.restore(before.waiting().orElseThrow());
        assertEquals(before.counts(), after.counts());
        second.setIterationCount(1);
        second.fit(SmallSteps.examples(data, 4, 6));
        stock.fit(data);
        SmallSteps.assertLearnedAlike(stock, second);
        assertEquals(1, restored.state().growthTracker());
        assertThrows(
                AmpException.class,
                () -> after.restore(new WaitingGroup(1, 1, Optional.of(Nd4j.createFromArray(1f)), Optional.empty())));
    }

    /** One that waits was scaled, though nothing is scaled any more. */
    @Test
    void restoredMicroBatchesWereScaled() {
        ScaleUpdates scale = new ScaleUpdates(scaler, Optional.empty());
        MultiLayerNetwork network = SmallSteps.network(new Sgd(0.5));
        TrainingStep step = new TrainingStep("owner", AmpNetwork.of(network), scale, 3, SmallSteps.group(2, false));
        step.installUpdater();
        scale.pause(true);
        network.fit(data);
        step.restore(step.waiting().orElseThrow());
        network.fit(data);
        assertEquals(1, scaler.state().growthTracker());
    }

    @Test
    void aSharedScaleThatWasNotUpdatedStopsAPartialGroup() {
        SharedLossScale shared = new SharedLossScale(scaler);
        MultiLayerNetwork network = SmallSteps.network(new Sgd(0.5));
        TrainingStep step = new TrainingStep(
                "owner",
                AmpNetwork.of(network),
                new ScaleUpdates(scaler, Optional.of(shared)),
                3,
                SmallSteps.group(2, false));
        step.installUpdater();
        network.fit(data);
        network.fit(data);
        step.restore(new WaitingGroup(1, 6, Optional.of(Nd4j.zeros(network.numParams())), Optional.empty()));
        assertThrows(AmpException.class, step::applyGroup);
        shared.update();
        assertTrue(step.applyGroup());
    }

    @Test
    void whatCantBeAddedUpIsRefusedInGroupsOnly() {
        Model network = SmallSteps.network(new Sgd(1), conf -> conf, new OwnMeans(4));
        AmpException e =
                assertThrows(AmpException.class, () -> SmallSteps.install(network, scaler, SmallSteps.group(2, false)));
        assertTrue(e.getMessage().startsWith("accumulate(2)"), e::getMessage);
        SmallSteps.install(network, scaler, PLAIN);
    }
}
