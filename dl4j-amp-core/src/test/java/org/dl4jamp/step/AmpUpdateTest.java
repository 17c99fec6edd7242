package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.OptionalDouble;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.gradient.Clipping;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.DynamicLossScaler;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Sgd;

/** Updates that anybody but DL4J's optimizer has called for, beside stock DL4J's. */
class AmpUpdateTest {
    private static final GradientTerms PLAIN = SmallSteps.group(1, false);
    private final DynamicLossScaler scaler =
            DynamicLossScaler.builder().initialScale(1024).build();
    private final DataSet data = SmallSteps.data(6);

    @Test
    void anUpdateByHandIsThatOfStockAndNoStep() {
        MultiLayerNetwork stock = SmallSteps.network(new Adam(0.1));
        MultiLayerNetwork network = SmallSteps.network(new Adam(0.1));
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        for (int i = 0; i < 2; i++) {
            SmallSteps.byHand(stock, SmallSteps.gradients(stock, data), i);
            SmallSteps.byHand(network, SmallSteps.gradients(network, data), i);
            SmallSteps.assertLearnedAlike(stock, network);
        }
        INDArray before = network.params().dup();
        Gradient bad = SmallSteps.gradients(network, data);
        bad.gradient().putScalar(0, Float.NaN);
        SmallSteps.byHand(network, bad, 2);
        assertEquals(before, network.params());
        assertTrue(step.skippedLastStep());
        SmallSteps.byHand(stock, SmallSteps.gradients(stock, data), 2);
        SmallSteps.byHand(network, SmallSteps.gradients(network, data), 3);
        SmallSteps.assertLearnedAlike(stock, network);
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
            Gradient gradient = SmallSteps.gradients(network, data);
            if (i % 3 != 2) {
                gradient.gradient().putScalar(0, Float.NaN);
            }
            SmallSteps.byHand(network, gradient, i);
        }
        Gradient bad = SmallSteps.gradients(network, data);
        bad.gradient().putScalar(0, Float.NaN);
        assertThrows(AmpException.class, () -> SmallSteps.byHand(network, bad, 5));
    }

    @Test
    void gradientsOfAnotherNetworkAreUpdatedAndClippedToo() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        INDArray before = network.params().dup();
        Gradient gradient = SmallSteps.gradients(SmallSteps.network(new Sgd(1)), data);
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
    void anUpdateByHandForgetsTheBatchBeforeIt() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(0.5));
        TrainingStep step = SmallSteps.install(network, scaler, PLAIN);
        step.backwardBegins(null, Nd4j.createFromArray(Float.NaN));
        SmallSteps.byHand(network, SmallSteps.gradients(network, data), 0);
        network.setListeners(new SmallSteps.Overflow());
        network.fit(data);
        assertEquals(512, scaler.scale(), "those labels aren't to blame");
    }
}
