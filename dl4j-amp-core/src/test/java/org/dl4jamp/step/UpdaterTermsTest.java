package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.Consumer;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.dl4jamp.Networks;
import org.dl4jamp.step.StepPlan.UpdaterTerms;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.learning.regularization.L1Regularization;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.WeightDecay;

class UpdaterTermsTest {
    private static final UpdaterTerms NONE = new UpdaterTerms(false, false);

    /** The terms of a layer with an updater, and so a block, of its own. */
    private static UpdaterTerms of(Consumer<BaseLayer> settings) {
        DenseLayer layer = Networks.dense(4, Activation.TANH);
        layer.setIUpdater(new Adam(0.1));
        settings.accept(layer);
        List<UpdaterTerms> terms =
                UpdaterTerms.of(SmallSteps.updater(SmallSteps.network(new Sgd(1), conf -> conf, layer))
                        .getUpdaterBlocks());
        assertEquals(2, terms.size());
        assertEquals(NONE, terms.get(1), "those of the output layer");
        return terms.get(0);
    }

    @Test
    void withoutSettingsThereAreNone() {
        assertEquals(NONE, of(layer -> {}));
        assertEquals(NONE, of(layer -> layer.setGradientNormalization(GradientNormalization.None)));
        assertEquals(NONE, of(layer -> layer.setGradientNormalization(null)));
        assertEquals(NONE, of(layer -> layer.setRegularization(null)));
        assertTrue(UpdaterTerms.of(
                        SmallSteps.updater(SmallSteps.network(new Sgd(1), conf -> conf, new BatchNormalization()))
                                .getUpdaterBlocks())
                .stream()
                .allMatch(NONE::equals));
    }

    @Test
    void whatComesBeforeTheUpdaterIsATerm() {
        assertEquals(
                new UpdaterTerms(true, false),
                of(layer -> layer.setGradientNormalization(GradientNormalization.ClipL2PerLayer)));
        assertEquals(
                new UpdaterTerms(false, true),
                of(layer -> layer.setRegularization(List.of(new L1Regularization(0.1)))));
        assertEquals(NONE, of(layer -> layer.setRegularization(List.of(new WeightDecay(0.1, true)))));
        assertEquals(
                new UpdaterTerms(false, true),
                of(layer -> layer.setRegularization(List.of(new WeightDecay(0.1, true), new L2Regularization(0.1)))));
        assertEquals(
                new UpdaterTerms(false, true),
                of(layer -> layer.setRegularizationBias(List.of(new L2Regularization(0.1)))),
                "of one parameter");
    }

    @Test
    void eachTermReadsMeans() {
        assertTrue(new UpdaterTerms(true, false).readMeans());
        assertTrue(new UpdaterTerms(false, true).readMeans());
        assertFalse(NONE.readMeans());
    }
}
