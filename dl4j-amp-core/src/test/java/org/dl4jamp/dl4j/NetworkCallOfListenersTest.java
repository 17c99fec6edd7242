package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.Networks;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** The place from which a listener is called. */
class NetworkCallOfListenersTest {
    private final DataSet data = Networks.vectors(8, 20, 3);
    private final MultiLayerNetwork network = Networks.init(Networks.mlp());
    private final MultiLayerNetwork other = Networks.init(Networks.mlp());
    private final List<String> refused = new ArrayList<>();

    private void ask(String where, Model model) {
        try {
            NetworkCall.refuseInPass("a call", model);
            NetworkCall.refuseInPass("a call", other);
        } catch (AmpException e) {
            assertEquals(true, e.getMessage().startsWith("a call was called within a pass"), e.getMessage());
            refused.add(where);
        }
    }

    private final class Asking extends BaseTrainingListener {
        @Override
        public void onForwardPass(Model model, List<INDArray> activations) {
            ask("forward", model);
        }

        @Override
        public void onForwardPass(Model model, Map<String, INDArray> activations) {
            ask("forward", model);
        }

        @Override
        public void onBackwardPass(Model model) {
            ask("backward", model);
        }

        @Override
        public void onGradientCalculation(Model model) {
            ask("gradients", model);
        }

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            ask("done", model);
        }
    }

    @Test
    void isRefusedBetweenForwardPassAndStepAndNowhereElse() {
        network.setListeners(new Asking());
        network.fit(data);
        assertEquals(List.of("forward", "backward", "gradients"), refused);
        ask("outside", network);
        assertEquals(3, refused.size());
    }

    @Test
    void isRefusedInGraphsToo() {
        ComputationGraph graph = network.toComputationGraph();
        graph.setListeners(new Asking());
        graph.fit(data);
        assertEquals(List.of("forward", "backward", "gradients"), refused);
    }
}
