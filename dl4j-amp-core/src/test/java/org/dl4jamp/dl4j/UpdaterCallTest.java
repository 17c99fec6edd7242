package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;

/** Compared with the formulas by hand. */
class UpdaterCallTest {
    private final DataSet data = Networks.vectors(8, 20, 3);

    private static MultiLayerNetwork network(GradientNormalization normalization) {
        return Networks.init(Networks.builder(new Sgd(0.1))
                .gradientNormalization(normalization)
                .gradientNormalizationThreshold(0.25)
                .list()
                .layer(Networks.dense(6, Activation.TANH))
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
    }

    private static void apply(BaseMultiLayerUpdater<?> updater, Gradient gradient) {
        new UpdaterCall(gradient, 0, 0, 8, LayerWorkspaceMgr.noWorkspaces()).normalizeGradients(updater);
    }

    private static double norm(INDArray array) {
        return array.norm2Number().doubleValue();
    }

    @Test
    void gradientsOfALayerAreClippedTogether() {
        MultiLayerNetwork network = network(GradientNormalization.ClipL2PerLayer);
        BaseMultiLayerUpdater<?> updater = (BaseMultiLayerUpdater<?>) network.getUpdater();
        Gradient gradient = network.calculateGradients(data.getFeatures(), data.getLabels(), null, null)
                .getFirst();
        for (int layer = 0; layer < 2; layer++) {
            INDArray view = network.getLayer(layer).getGradientsViewArray();
            view.muli((layer == 0 ? 3 : 0.1) / norm(view));
        }
        apply(updater, gradient);
        assertEquals(0.25, norm(network.getLayer(0).getGradientsViewArray()), 1e-6);
        assertEquals(0.1, norm(network.getLayer(1).getGradientsViewArray()), 1e-6);
    }

    @Test
    void gradientsOfEachParameterOfAGraphAreBroughtToNormOne() {
        ComputationGraph graph =
                network(GradientNormalization.RenormalizeL2PerParamType).toComputationGraph();
        BaseMultiLayerUpdater<?> updater = graph.getUpdater();
        graph.setInputs(data.getFeatures());
        graph.setLabels(data.getLabels());
        graph.computeGradientAndScore();
        apply(updater, graph.gradient());
        assertEquals(4, graph.gradient().gradientForVariable().size());
        graph.gradient().gradientForVariable().forEach((name, array) -> assertEquals(1, norm(array), 1e-5, name));
    }

    @Test
    void otherLayersAreLeftAlone() {
        MultiLayerNetwork network = network(GradientNormalization.None);
        Gradient gradient = network.calculateGradients(data.getFeatures(), data.getLabels(), null, null)
                .getFirst();
        INDArray before = gradient.gradient().dup();
        apply((BaseMultiLayerUpdater<?>) network.getUpdater(), gradient);
        assertEquals(before, gradient.gradient());
    }
}
