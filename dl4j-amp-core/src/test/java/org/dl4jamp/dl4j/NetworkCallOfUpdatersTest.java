package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.dataset.DataSet;

/** The caller of an updater. */
class NetworkCallOfUpdatersTest {
    private final DataSet data = Networks.vectors(8, 20, 3);
    private final List<Boolean> calls = new ArrayList<>();

    private Consumer<UpdaterCall> recording(HookedUpdater updater) {
        return call -> {
            calls.add(NetworkCall.isUpdateOfStep());
            updater.updateAsDl4j(call);
        };
    }

    private static void updateByHand(BaseMultiLayerUpdater<?> updater, Gradient gradient) {
        updater.update(gradient, 0, 0, 8, LayerWorkspaceMgr.noWorkspaces());
    }

    @Test
    void isTheOptimizersWithinFitAndNobodyElses() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        HookedUpdater.OfLayers updater = new HookedUpdater.OfLayers(network, null, this::recording);
        network.setUpdater(updater);
        network.fit(data);
        updateByHand(
                updater,
                network.calculateGradients(data.getFeatures(), data.getLabels(), null, null)
                        .getFirst());
        assertEquals(List.of(true, false), calls);
    }

    @Test
    void isTheOptimizersWithinFitOfAGraph() {
        ComputationGraph graph = Networks.init(Networks.mlp()).toComputationGraph();
        graph.setUpdater(new HookedUpdater.OfGraph(graph, null, this::recording));
        graph.fit(data);
        assertEquals(List.of(true), calls);
    }

    @Test
    void isAListenersWhileAnOptimizerIsAtWork() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        HookedUpdater.OfLayers updater = new HookedUpdater.OfLayers(network, null, this::recording);
        network.setUpdater(updater);
        network.setListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                updateByHand(updater, model.gradient());
            }
        });
        network.fit(data);
        assertEquals(List.of(false, true), calls);
    }
}
