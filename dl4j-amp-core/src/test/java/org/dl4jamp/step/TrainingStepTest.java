package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.Networks;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.gradient.Clipping;
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
import org.nd4j.linalg.learning.config.Sgd;

/** Whole steps beside stock DL4J's. */
class TrainingStepTest {
    private static final GradientTerms PLAIN = SmallSteps.group(1, false);
    private final DynamicLossScaler scaler =
            DynamicLossScaler.builder().initialScale(1024).build();
    private final DataSet data = SmallSteps.data(6);

    @Test
    void aStepIsThatOfStockAndIsCounted() {
        MultiLayerNetwork stock = SmallSteps.normalized(new Adam(0.1));
        MultiLayerNetwork network = SmallSteps.normalized(new Adam(0.1));
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        for (int i = 0; i < 3; i++) {
            stock.fit(data);
            network.fit(data);
            SmallSteps.assertLearnedAlike(stock, network);
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
        network.fit(SmallSteps.spoiled(data));
        SmallSteps.assertLearnedAlike(stock, network);
        assertEquals(Double.NaN, network.score());
        assertEquals(new StepCounts(1, 1, 1, 0), step.counts());
        assertTrue(step.skippedLastStep());
        assertEquals(1, scaler.state().growthTracker(), "the scale isn't to blame");
        stock.fit(data);
        network.fit(data);
        SmallSteps.assertLearnedAlike(stock, network);
        assertEquals(new StepCounts(2, 1, 0, 0), step.counts());
        assertFalse(step.skippedLastStep());
    }

    @Test
    void anOverflowLowersTheScaleAndMovesNothing() {
        MultiLayerNetwork network = SmallSteps.normalized(new Adam(0.1));
        INDArray before = network.params().dup();
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        network.addListeners(new SmallSteps.Overflow());
        network.fit(data);
        assertEquals(before, network.params());
        assertEquals(512, scaler.scale());
        assertEquals(new StepCounts(0, 1, 1, 0), step.counts());
    }

    @Test
    void tooManySkipsInARowEndInAnException() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        SmallSteps.install(network, scaler, PLAIN);
        DataSet bad = SmallSteps.spoiled(data);
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
        network.setListeners(new SmallSteps.Overflow());
        network.fit(data);
        assertEquals(512, scaler.scale(), "labels of the batch before are forgotten");
    }

    @Test
    void anEngineThatMayLoseNaNHasTheBatchSkipped() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        INDArray before = network.params().dup();
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        step.use(StepKernels.nd4j(), array -> true);
        DataSet bad = SmallSteps.spoiled(data);
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
        SmallSteps.assertLearnedAlike(stock, network);
    }

    @Test
    void anUpdaterThatWasReplacedIsBackBeforeABackwardPass() {
        MultiLayerNetwork network = SmallSteps.network(new Adam(0.1));
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        network.setUpdater(AmpNetwork.of(network).plainUpdater(null));
        assertEquals(Optional.empty(), TrainingStep.of(SmallSteps.updater(network)));
        step.backpropagates();
        assertEquals(Optional.of(step), TrainingStep.of(SmallSteps.updater(network)));
    }

    @Test
    void aSharedScaleThatWasNotUpdatedStopsTheSecondStep() {
        SharedLossScale shared = new SharedLossScale(scaler);
        MultiLayerNetwork network = SmallSteps.network(new Sgd(0.5));
        TrainingStep step = new TrainingStep(
                "owner", AmpNetwork.of(network), new ScaleUpdates(scaler, Optional.of(shared)), 3, PLAIN);
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
}
