package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.dataset.DataSet;

/** DL4J's two updaters, with what they're called for left to a hook. */
class HookedUpdaterTest {
    private final DataSet data = Networks.vectors(8, 20, 3);
    private final List<UpdaterCall> calls = new ArrayList<>();

    @Test
    void networksTrainAsBeforeWhereTheHookDoesWhatDl4jDoes() {
        MultiLayerNetwork expected = Networks.init(Networks.mlp());
        MultiLayerNetwork network = expected.clone();
        ComputationGraph graph = expected.toComputationGraph();
        network.setUpdater(new HookedUpdater.OfLayers(network, null, updater -> updater::updateAsDl4j));
        graph.setUpdater(new HookedUpdater.OfGraph(graph, null, updater -> updater::updateAsDl4j));
        for (int step = 0; step < 3; step++) {
            expected.fit(data);
            network.fit(data);
            graph.fit(data);
        }
        assertEquals(expected.params(), network.params());
        assertEquals(expected.params(), graph.params());
        assertEquals(
                expected.getUpdater().getStateViewArray(), network.getUpdater().getStateViewArray());
    }

    @Test
    void aHookHearsOfEachCallAndMayDoNothing() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        HookedUpdater.OfLayers updater = new HookedUpdater.OfLayers(network, null, self -> call -> {
            calls.add(call);
            call.gradient().gradient().assign(0);
        });
        network.setUpdater(updater);
        var before = network.params().dup();
        network.fit(data);
        network.fit(data);
        assertEquals(before, network.params());
        assertEquals(List.of(0, 1), calls.stream().map(UpdaterCall::iteration).toList());
        assertTrue(calls.stream().allMatch(call -> call.examples() == 8));
    }

    @Test
    void hooksAreFoundByTheirUpdaters() {
        MultiLayerNetwork network = Networks.init(Networks.mlp());
        Consumer<UpdaterCall> hook = call -> {};
        HookedUpdater.OfLayers updater = new HookedUpdater.OfLayers(network, null, self -> hook);
        assertSame(hook, HookedUpdater.hookOf(updater).orElseThrow());
        assertSame(updater, updater.plain());
        assertEquals(Optional.empty(), HookedUpdater.hookOf(null));
        assertEquals(Optional.empty(), HookedUpdater.hookOf((BaseMultiLayerUpdater<?>) network.getUpdater()));
    }
}
