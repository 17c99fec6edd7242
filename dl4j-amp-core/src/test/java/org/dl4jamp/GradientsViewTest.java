package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.dataset.DataSet;

/** A gradient view that is made anew while mixed precision is enabled, as {@code initGradientsView()} does. */
class GradientsViewTest extends GradientsViewClaims {
    private static final AmpConfig FLOAT =
            AmpConfig.builder().engine("nd4j").precision(Precision.FLOAT).build();

    private final DataSet data = Networks.vectors(16, 20, 3);
    private final DataSet images = Networks.images(8, 3, 8, 3);

    GradientsViewTest() {
        super(FLOAT);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void trainingGoesOnOverTheNewViewWithTheSameState(boolean closedInBetween) {
        MultiLayerNetwork plain = Networks.init(Networks.mlp());
        MultiLayerNetwork network = plain.clone();
        MixedPrecision amp = MixedPrecision.enable(network, FLOAT);
        for (int step = 0; step < 6; step++) {
            if (step == 2) {
                network.initGradientsView();
                if (closedInBetween) {
                    amp.close();
                }
            }
            plain.fit(data);
            network.fit(data);
        }
        amp.close();
        plain.fit(data);
        network.fit(data);
        LossScalingTest.assertBitIdentical(plain.params(), network.params());
        LossScalingTest.assertBitIdentical(
                plain.getUpdater().getStateViewArray(), network.getUpdater().getStateViewArray());
    }

    @Test
    void trainingOfAGraphGoesOnOverTheNewView() {
        ComputationGraph plain = Networks.init(Networks.residual());
        ComputationGraph graph = plain.clone();
        MixedPrecision amp = MixedPrecision.enable(graph, FLOAT);
        for (int step = 0; step < 4; step++) {
            if (step == 1) {
                graph.initGradientsView();
            }
            plain.fit(images);
            graph.fit(images);
        }
        assertEquals(4, amp.stepsTaken());
        amp.close();
        assertEquals(ComputationGraphUpdater.class, graph.getUpdater().getClass());
        plain.fit(images);
        graph.fit(images);
        LossScalingTest.assertBitIdentical(plain.params(), graph.params());
    }

    /** No other object is notified of that call. */
    @Test
    void anUpdaterThatIsCalledByHandUpdatesTheNewView() {
        MultiLayerNetwork plain = Networks.init(Networks.mlp());
        MultiLayerNetwork network = plain.clone();
        MixedPrecision.enable(network, FLOAT);
        BaseMultiLayerUpdater<?> kept = (BaseMultiLayerUpdater<?>) network.getUpdater();
        network.initGradientsView();
        updateByHand(plain, (BaseMultiLayerUpdater<?>) plain.getUpdater());
        updateByHand(network, kept);
        LossScalingTest.assertBitIdentical(plain.params(), network.params());
    }

    private void updateByHand(MultiLayerNetwork network, BaseMultiLayerUpdater<?> updater) {
        Gradient gradient = network.calculateGradients(data.getFeatures(), data.getLabels(), null, null)
                .getFirst();
        updater.update(gradient, 0, 0, 16, LayerWorkspaceMgr.noWorkspaces());
        network.params().subi(gradient.gradient());
    }
}
