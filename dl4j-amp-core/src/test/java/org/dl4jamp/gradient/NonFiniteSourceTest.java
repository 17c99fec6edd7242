package org.dl4jamp.gradient;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Networks;
import org.dl4jamp.layer.UnscalingVertex;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.step.SmallSteps;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** The first parameter whose gradient isn't finite. */
class NonFiniteSourceTest {
    private static final INDArray BAD = Nd4j.createFromArray(1, Float.NaN);

    @Test
    void featuresComeBeforeLabelsAndEachIsNamedByItsNumber() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        NonFiniteSource source = new NonFiniteSource(AmpNetwork.of(network));
        INDArray good = Nd4j.createFromArray(1f, 2);
        network.setInput(good);
        assertEquals(Optional.empty(), source.inBatch(List.of()));
        assertEquals(Optional.empty(), source.inBatch(Arrays.asList(good, null)));
        assertEquals(Optional.of("labels 2 contain NaN at [1]"), source.inBatch(Arrays.asList(good, null, BAD)));
        network.setInput(BAD);
        assertEquals(Optional.of("features 0 contain NaN at [1]"), source.inBatch(List.of(BAD)));
    }

    @Test
    void gradientsFlowFromTheLastLayerToTheFirst() {
        MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
        NonFiniteSource source = new NonFiniteSource(AmpNetwork.of(network));
        assertEquals(Optional.empty(), source.amongParameters(), "no gradients yet");
        network.initGradientsView();
        INDArray view = network.getGradientsViewArray();
        assertEquals(Optional.empty(), source.amongParameters());
        view.putScalar(0, Float.NaN);
        assertEquals(Optional.of("parameter \"W\" of layer \"layer0\""), source.amongParameters());
        view.putScalar(view.length() - 1, Float.NaN);
        assertEquals(Optional.of("parameter \"b\" of layer \"layer1\""), source.amongParameters());
    }

    @Test
    void aVertexIsNamedIfNoLayerIsToBlame() {
        ComputationGraph graph = SmallSteps.attention();
        AmpNetwork network = AmpNetwork.of(graph);
        UnscalingVertex vertex = SmallSteps.unscale(graph);
        DataSet data = Networks.sequences(2, 3, 2, 4);
        graph.setInput(0, data.getFeatures());
        graph.setLabel(0, data.getLabels());
        graph.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
        NonFiniteSource source = new NonFiniteSource(network);
        assertEquals(Optional.empty(), source.amongParameters());
        vertex.gradients().get("Wk").putScalar(0, Float.NEGATIVE_INFINITY);
        assertEquals(Optional.of("parameter \"Wk\" of vertex \"attention\""), source.amongParameters());
    }
}
