package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.Networks;
import org.dl4jamp.OwnMeans;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.gradient.Clipping;
import org.dl4jamp.gradient.GradientTerms;
import org.dl4jamp.gradient.PenalizedGradient;
import org.dl4jamp.gradient.WaitingGroup;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Sgd;

/** Whole steps beside stock DL4J's. */
class TrainingStepTest {
    private static final GradientTerms PLAIN = SmallSteps.group(1, false);

    private final DynamicLossScaler scaler =
            DynamicLossScaler.builder().initialScale(1024).build();
    private final DataSet data = SmallSteps.data(6);

    private static DataSet examples(DataSet data, int from, int to) {
        return new DataSet(
                data.getFeatures().get(NDArrayIndex.interval(from, to)).dup(),
                data.getLabels().get(NDArrayIndex.interval(from, to)).dup());
    }

    private static DataSet spoiled(DataSet data) {
        DataSet bad = data.copy();
        bad.getFeatures().putScalar(0, Float.NaN);
        return bad;
    }

    private static void assertLearnedAlike(Model expected, Model actual) {
        assertArrayEquals(
                expected.params().ravel().toFloatVector(),
                actual.params().ravel().toFloatVector(),
                1e-6f);
        INDArray state = SmallSteps.updater(expected).getStateViewArray();
        if (state != null) {
            assertArrayEquals(
                    state.ravel().toFloatVector(),
                    SmallSteps.updater(actual).getStateViewArray().ravel().toFloatVector(),
                    1e-6f);
        }
    }

    /** Makes the gradients of one call infinite: an overflow of a finite loss. */
    private static final class Overflow extends BaseTrainingListener {
        private boolean next = true;

        @Override
        public void onGradientCalculation(Model model) {
            if (next) {
                model.gradient().gradient().putScalar(0, Float.POSITIVE_INFINITY);
            }
            next = false;
        }
    }

    @Test
    void aStepIsThatOfStockAndIsCounted() {
        MultiLayerNetwork stock = SmallSteps.normalized(new Adam(0.1));
        MultiLayerNetwork network = SmallSteps.normalized(new Adam(0.1));
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        for (int i = 0; i < 3; i++) {
            stock.fit(data);
            network.fit(data);
            assertLearnedAlike(stock, network);
            assertEquals(i, step.optimizerIteration());
        }
        assertEquals(new StepCounts(3, 0, 0, 0), step.counts());
        assertEquals(3, scaler.state().growthTracker());
        assertFalse(step.skippedLastStep());
        assertEquals(OptionalDouble.empty(), step.gradientNorm());
        assertEquals("owner", step.owner());
        assertSame(network, step.network());
        assertNotNull(step.gate());
        assertEquals(Optional.of(step), TrainingStep.of(SmallSteps.updater(network)));
        assertEquals(Optional.empty(), TrainingStep.of(SmallSteps.updater(stock)));
        assertEquals(Optional.empty(), TrainingStep.of(null));
        assertEquals(Optional.empty(), step.waiting());
    }

    @Test
    void theNormIsThatOfMeansOrOfSumsWithoutDivisionByTheMinibatch() {
        for (boolean miniBatch : new boolean[] {true, false}) {
            MultiLayerNetwork stock = SmallSteps.network(
                    new Sgd(1), conf -> conf.miniBatch(miniBatch), Networks.dense(4, Activation.TANH));
            MultiLayerNetwork network = SmallSteps.network(
                    new Sgd(1), conf -> conf.miniBatch(miniBatch), Networks.dense(4, Activation.TANH));
            INDArray before = stock.params().dup();
            stock.fit(data);
            double norm = before.sub(stock.params()).norm2Number().doubleValue();
            Clipping clipping = new Clipping(OptionalDouble.of(norm / 2), OptionalDouble.empty());
            TrainingStep step = SmallSteps.install(network, scaler, SmallSteps.clipped(clipping));
            assertEquals(OptionalDouble.empty(), step.gradientNorm());
            network.fit(data);
            assertEquals(norm, step.gradientNorm().orElseThrow(), 1e-5 * norm);
            assertArrayEquals(
                    before.sub(stock.params()).muli(0.5).ravel().toFloatVector(),
                    before.sub(network.params()).ravel().toFloatVector(),
                    1e-6f);
        }
    }

    @Test
    void aBadBatchMovesNothingAndTheNextStepIsAsIfItHadNotBeen() {
        MultiLayerNetwork stock = SmallSteps.normalized(new Adam(0.1));
        MultiLayerNetwork network = SmallSteps.normalized(new Adam(0.1));
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        stock.fit(data);
        network.fit(data);
        network.fit(spoiled(data));
        assertLearnedAlike(stock, network);
        assertEquals(Double.NaN, network.score());
        assertEquals(new StepCounts(1, 1, 1, 0), step.counts());
        assertTrue(step.skippedLastStep());
        assertEquals(1, scaler.state().growthTracker(), "the scale isn't to blame");
        stock.fit(data);
        network.fit(data);
        assertLearnedAlike(stock, network);
        assertEquals(new StepCounts(2, 1, 0, 0), step.counts());
        assertFalse(step.skippedLastStep());
    }

    @Test
    void anOverflowLowersTheScaleAndMovesNothing() {
        MultiLayerNetwork network = SmallSteps.normalized(new Adam(0.1));
        INDArray before = network.params().dup();
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        network.addListeners(new Overflow());
        network.fit(data);
        assertEquals(before, network.params());
        assertEquals(512, scaler.scale());
        assertEquals(new StepCounts(0, 1, 1, 0), step.counts());
    }

    @Test
    void tooManySkipsInARowEndInAnException() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        SmallSteps.install(network, scaler, PLAIN);
        DataSet bad = spoiled(data);
        network.fit(bad);
        network.fit(bad);
        assertThrows(AmpException.class, () -> network.fit(bad));
    }

    @Test
    void labelsOfTheBatchAreLookedAt() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        List<String> score = new ArrayList<>();
        network.addListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                step.backwardBegins(null, Nd4j.createFromArray(Float.NaN));
                model.gradient().gradient().putScalar(0, Float.NaN);
            }

            @Override
            public void iterationDone(Model model, int iteration, int epoch) {
                score.add(Double.toString(model.score()));
            }
        });
        network.fit(data);
        assertEquals(List.of("NaN"), score, "as with every batch that isn't finite");
        assertEquals(1024, scaler.scale());
        network.setListeners(new Overflow());
        network.fit(data);
        assertEquals(512, scaler.scale(), "labels of the batch before are forgotten");
    }

    @Test
    void anEngineThatMayLoseNaNHasTheBatchSkipped() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        INDArray before = network.params().dup();
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        step.use(StepKernels.nd4j(), array -> true);
        DataSet bad = spoiled(data);
        network.addListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                // As if a ReLU had made zero of NaN.
                model.gradient().gradient().assign(1);
                network.setScore(0.5);
            }
        });
        network.fit(bad);
        assertEquals(before, network.params());
        assertEquals(1, step.counts().skipped());
        network.fit(data);
        assertEquals(1, step.counts().taken());
    }

    @Test
    void severalMicroBatchesAreTheStepOfTheirWhole() {
        for (IUpdater updater : new IUpdater[] {new Sgd(0.5), new Adam(0.1)}) {
            MultiLayerNetwork stock = SmallSteps.network(updater);
            MultiLayerNetwork network = SmallSteps.network(updater);
            TrainingStep step = SmallSteps.install(network, scaler, SmallSteps.group(3, false));
            for (int i = 0; i < 2; i++) {
                INDArray before = network.params().dup();
                stock.fit(data);
                network.fit(examples(data, 0, 3));
                assertTrue(step.skippedLastStep());
                network.fit(examples(data, 3, 5));
                assertEquals(before, network.params());
                assertEquals(2, step.waiting().orElseThrow().microBatches());
                network.fit(examples(data, 5, 6));
                assertLearnedAlike(stock, network);
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
            network.fit(failed == 0 ? spoiled(data) : data);
            network.fit(failed == 1 ? spoiled(data) : data);
            assertEquals(before, network.params());
            assertEquals(failed + 1, step.counts().skipped());
        }
        stock.fit(data);
        network.fit(examples(data, 0, 3));
        network.fit(examples(data, 3, 6));
        assertLearnedAlike(stock, network);
        assertEquals(new StepCounts(1, 2, 0, 3), step.counts());
    }

    @Test
    void aGroupThatEndsEarlyIsTheStepOfItsExamples() {
        MultiLayerNetwork stock = SmallSteps.network(new Adam(0.1));
        MultiLayerNetwork network = SmallSteps.network(new Adam(0.1));
        TrainingStep step = SmallSteps.install(network, scaler, SmallSteps.group(3, false));
        assertFalse(step.applyGroup());
        network.fit(examples(data, 0, 2));
        network.fit(examples(data, 2, 6));
        assertTrue(step.applyGroup());
        assertFalse(step.applyGroup());
        stock.fit(data);
        assertLearnedAlike(stock, network);
        assertEquals(new StepCounts(1, 0, 0, 1), step.counts());
        assertFalse(step.skippedLastStep());
        stock.fit(data);
        network.fit(data);
        assertTrue(step.applyGroup());
        assertLearnedAlike(stock, network);
        network.fit(spoiled(data));
        assertTrue(step.applyGroup());
        assertLearnedAlike(stock, network);
        assertEquals(1, step.counts().skipped());
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
        assertLearnedAlike(stock, network);
        assertEquals(1, step.counts().taken());
        step.removeUpdater();
        assertEquals(0, network.getListeners().size());
        assertFalse(network.getUpdater() == step.updater().present());
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
        first.fit(examples(data, 0, 4));
        MultiLayerNetwork second = SmallSteps.network(new Adam(0.1));
        DynamicLossScaler restored = DynamicLossScaler.builder().build();
        TrainingStep after = SmallSteps.install(second, restored, SmallSteps.group(2, false));
        after.restore(before.counts());
        after.restore(before.waiting().orElseThrow());
        assertEquals(before.counts(), after.counts());
        second.setIterationCount(1);
        second.fit(examples(data, 4, 6));
        stock.fit(data);
        assertLearnedAlike(stock, second);
        assertEquals(1, restored.state().growthTracker());
        assertThrows(
                AmpException.class,
                () -> after.restore(new WaitingGroup(1, 1, Optional.of(Nd4j.createFromArray(1f)), Optional.empty())));
    }

    /** One that waits was scaled, though nothing is scaled any more. */
    @Test
    void restoredMicroBatchesWereScaled() {
        ScaleUpdates scale = ScaleUpdates.each(scaler);
        MultiLayerNetwork network = SmallSteps.network(new Sgd(0.5));
        TrainingStep step = new TrainingStep("owner", AmpNetwork.of(network), scale, 3, SmallSteps.group(2, false));
        step.installUpdater();
        scale.pause(true);
        network.fit(data);
        step.restore(step.waiting().orElseThrow());
        network.fit(data);
        assertEquals(1, scaler.state().growthTracker());
    }

    private static Gradient gradients(MultiLayerNetwork network, DataSet data) {
        return network.calculateGradients(data.getFeatures(), data.getLabels(), null, null)
                .getFirst();
    }

    private static void byHand(MultiLayerNetwork network, Gradient gradient, int iteration) {
        SmallSteps.updater(network).update(gradient, iteration, 0, 6, LayerWorkspaceMgr.noWorkspaces());
        network.params().subi(gradient.gradient().reshape(network.params().shape()));
    }

    @Test
    void anUpdateByHandIsThatOfStockAndNoStep() {
        MultiLayerNetwork stock = SmallSteps.network(new Adam(0.1));
        MultiLayerNetwork network = SmallSteps.network(new Adam(0.1));
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        for (int i = 0; i < 2; i++) {
            byHand(stock, gradients(stock, data), i);
            byHand(network, gradients(network, data), i);
            assertLearnedAlike(stock, network);
        }
        INDArray before = network.params().dup();
        Gradient bad = gradients(network, data);
        bad.gradient().putScalar(0, Float.NaN);
        byHand(network, bad, 2);
        assertEquals(before, network.params());
        assertTrue(step.skippedLastStep());
        byHand(stock, gradients(stock, data), 2);
        byHand(network, gradients(network, data), 3);
        assertLearnedAlike(stock, network);
        assertFalse(step.skippedLastStep());
        assertEquals(StepCounts.NONE, step.counts());
        assertEquals(0, scaler.state().growthTracker());
        assertEquals(1024, scaler.scale());
    }

    @Test
    void aGoodUpdateByHandEndsARowOfBadOnes() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(0.5));
        SmallSteps.install(network, scaler, PLAIN);
        for (int i = 0; i < 5; i++) {
            Gradient gradient = gradients(network, data);
            if (i % 3 != 2) {
                gradient.gradient().putScalar(0, Float.NaN);
            }
            byHand(network, gradient, i);
        }
        Gradient bad = gradients(network, data);
        bad.gradient().putScalar(0, Float.NaN);
        assertThrows(AmpException.class, () -> byHand(network, bad, 5));
    }

    @Test
    void gradientsOfAnotherNetworkAreUpdatedAndClippedToo() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        INDArray before = network.params().dup();
        Gradient gradient = gradients(SmallSteps.network(new Sgd(1)), data);
        INDArray means = gradient.gradient().div(6);
        double norm = means.norm2Number().doubleValue();
        SmallSteps.install(
                network, scaler, SmallSteps.clipped(new Clipping(OptionalDouble.of(norm / 4), OptionalDouble.empty())));
        SmallSteps.updater(network).update(gradient, 0, 0, 6, LayerWorkspaceMgr.noWorkspaces());
        assertArrayEquals(
                means.muli(0.25).ravel().toFloatVector(),
                gradient.gradient().ravel().toFloatVector(),
                1e-6f);
        assertEquals(before, network.params());
    }

    @Test
    void aSharedScaleThatWasNotUpdatedStopsTheSecondStep() {
        SharedLossScale shared = new SharedLossScale(scaler);
        MultiLayerNetwork network = SmallSteps.network(new Sgd(0.5));
        TrainingStep step = new TrainingStep(
                "owner", AmpNetwork.of(network), ScaleUpdates.together(scaler, shared, true), 3, PLAIN);
        step.installUpdater();
        network.fit(data);
        AmpException e = assertThrows(AmpException.class, () -> network.fit(data));
        assertTrue(
                e.getMessage()
                        .contains("the MultiLayerNetwork of " + network.numParams() + " parameters, in iteration 1,"),
                e::getMessage);
        shared.update();
        network.fit(data);
    }

    @Test
    void aSharedScaleThatWasNotUpdatedStopsAPartialGroup() {
        SharedLossScale shared = new SharedLossScale(scaler);
        MultiLayerNetwork network = SmallSteps.network(new Sgd(0.5));
        TrainingStep step = new TrainingStep(
                "owner",
                AmpNetwork.of(network),
                ScaleUpdates.together(scaler, shared, true),
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

    @Test
    void settingsThatChangeInTheMiddleOfTrainingCountFromThenOn() {
        MultiLayerNetwork stock = SmallSteps.network(new Sgd(0.5));
        MultiLayerNetwork network = SmallSteps.network(new Sgd(0.5));
        SmallSteps.install(network, scaler, PLAIN);
        for (MultiLayerNetwork each : List.of(stock, network)) {
            each.fit(data);
            BaseLayer first = (BaseLayer) each.getLayer(0).conf().getLayer();
            first.setGradientNormalization(GradientNormalization.ClipElementWiseAbsoluteValue);
            first.setGradientNormalizationThreshold(0.001);
            each.fit(data);
        }
        assertLearnedAlike(stock, network);
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
            assertLearnedAlike(stock, network);
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
    void anUpdaterThatWasReplacedIsBackBeforeTheBackwardPass() {
        MultiLayerNetwork network = SmallSteps.network(new Adam(0.1));
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        network.setUpdater(AmpNetwork.of(network).plainUpdater(null));
        assertEquals(Optional.empty(), TrainingStep.of(SmallSteps.updater(network)));
        step.backwardBegins(null, null);
        assertEquals(Optional.of(step), TrainingStep.of(SmallSteps.updater(network)));
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
        assertTrue(Memory.isSame(state, SmallSteps.updater(network).getStateViewArray()));
        assertTrue(state.norm2Number().doubleValue() > 0, "the moments of that step");
    }

    @Test
    void anUpdateByHandForgetsTheBatchBeforeIt() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(0.5));
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        step.backwardBegins(null, Nd4j.createFromArray(Float.NaN));
        byHand(network, gradients(network, data), 0);
        network.setListeners(new Overflow());
        network.fit(data);
        assertEquals(512, scaler.scale(), "those labels aren't to blame");
    }

    private GradientTerms penalized(Model network) {
        return new GradientTerms(
                Optional.of(new PenalizedGradient(0.06, 0.2, network)), 1, false, Clipping.NONE, false);
    }

    @Test
    void aPenaltyIsAddedToFiniteGradientsOnly() {
        MultiLayerNetwork plain = SmallSteps.network(new Sgd(1));
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        INDArray before = network.params().dup();
        TrainingStep step = SmallSteps.install(network, scaler, penalized(network));
        network.addListeners(new Overflow());
        network.fit(data);
        assertEquals(before, network.params());
        assertEquals(512, scaler.scale(), "an overflow of the pass that was scaled");
        network.fit(spoiled(data));
        assertEquals(before, network.params());
        assertEquals(512, scaler.scale());
        network.fit(data);
        plain.fit(data);
        assertEquals(1, step.counts().taken());
        assertTrue(plain.params().distance2(network.params()) > 0.005, "the penalty is a part that is seen");
        assertTrue(plain.params().distance2(network.params()) < 0.5 * before.distance2(network.params()));
    }

    @Test
    void anInfiniteLossOfFiniteGradientsIsNotLearnedFrom() {
        for (boolean penalty : new boolean[] {false, true}) {
            MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
            INDArray before = network.params().dup();
            TrainingStep step = SmallSteps.install(network, scaler, penalty ? penalized(network) : PLAIN);
            network.addListeners(new BaseTrainingListener() {
                @Override
                public void onGradientCalculation(Model model) {
                    network.setScore(Double.POSITIVE_INFINITY);
                }
            });
            network.fit(data);
            assertEquals(before, network.params());
            assertEquals(1, step.counts().skipped());
            assertEquals(1024, scaler.scale());
        }
    }

    @Test
    void aPenaltyWhosePassIsNotFiniteSkipsTheStepAndIsNotTheScalesFault() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        INDArray before = network.params().dup();
        TrainingStep step = SmallSteps.install(network, scaler, penalized(network));
        DataSet bad = data.copy();
        network.addListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                // The second pass alone sees it.
                bad.getLabels().putScalar(0, Float.NaN);
            }
        });
        network.fit(bad);
        assertEquals(before, network.params());
        assertEquals(new StepCounts(0, 1, 1, 0), step.counts());
        assertEquals(1024, scaler.scale());
    }

    private static long works(List<RecordedEvent> events, String kind) {
        return events.stream()
                .filter(event -> event.getString("kind").equals(kind))
                .count();
    }

    @Test
    void aRecordingShowsTheChecksAndUpdatesOfSteps(@TempDir Path folder) throws IOException {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        MultiLayerNetwork penalized = SmallSteps.network(new Sgd(1));
        SmallSteps.install(network, scaler, PLAIN);
        SmallSteps.install(penalized, scaler, penalized(penalized));
        Path file = folder.resolve("events.jfr");
        try (Recording recording = new Recording()) {
            recording.enable(WorkEvent.NAME).withThreshold(Duration.ZERO);
            recording.start();
            network.fit(data);
            byHand(network, gradients(network, data), 1);
            penalized.fit(data);
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file);
        assertEquals(4, works(events, WorkEvent.CHECK), "one of each pass, and one by hand");
        assertEquals(3, works(events, WorkEvent.UPDATER));
    }
}
