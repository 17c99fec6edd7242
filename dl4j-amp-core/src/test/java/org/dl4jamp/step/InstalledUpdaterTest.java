package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.MultiLayerUpdater;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.NoLossScaler;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

/** An updater that stands in a network in place of its own, and comes back when others were put there. */
class InstalledUpdaterTest {
    private final MultiLayerNetwork network = SmallSteps.network(new Adam(0.1));
    private final BaseMultiLayerUpdater<?> own = SmallSteps.updater(network);
    private final TrainingStep step = new TrainingStep(
            "owner",
            AmpNetwork.of(network),
            new ScaleUpdates(new NoLossScaler(), Optional.empty()),
            3,
            SmallSteps.group(1, false));
    private final InstalledUpdater installed = step.updater;
    private final DataSet data = SmallSteps.data(6);

    private BaseMultiLayerUpdater<?> current() {
        return SmallSteps.updater(network);
    }

    @Test
    void itTakesOverTheStateOfTheOneThatItReplaces() {
        network.fit(data);
        INDArray state = current().getStateViewArray();
        BaseMultiLayerUpdater<?> updater = installed.renew();
        assertSame(updater, current());
        assertSame(updater, installed.updater);
        assertSame(step, installed.update.step());
        assertTrue(AmpUpdate.isSameMemory(state, updater.getStateViewArray()));
    }

    @Test
    void aNetworkWithoutUpdaterGetsOneWithNewState() {
        network.setUpdater(null);
        installed.renew();
        assertSame(installed.updater, current());
        assertEquals(
                own.getStateViewArray().length(), current().getStateViewArray().length());
    }

    @Test
    void itStaysWhileItStands() {
        installed.renew();
        BaseMultiLayerUpdater<?> updater = installed.updater;
        installed.putBack(step.gate());
        assertSame(updater, installed.updater);
    }

    @Test
    void itComesBackAfterAnotherWasPutThere() {
        installed.renew();
        MultiLayerUpdater other =
                new MultiLayerUpdater(network, own.getStateViewArray().dup());
        network.setUpdater(other);
        installed.putBack(step.gate());
        assertSame(installed.updater, current());
        assertTrue(AmpUpdate.isSameMemory(other.getStateViewArray(), current().getStateViewArray()));
    }

    @Test
    void itComesBackOverAnotherGradientView() {
        installed.renew();
        BaseMultiLayerUpdater<?> updater = installed.updater;
        assertFalse(installed.update.isOutdated());
        network.initGradientsView();
        assertTrue(installed.update.isOutdated());
        installed.putBack(step.gate());
        assertNotSame(updater, current());
        assertSame(installed.updater, current());
        assertFalse(installed.update.isOutdated());
    }

    @Test
    void removedItGivesTheReplacedOneBack() {
        installed.renew();
        installed.remove();
        assertSame(own, current());
    }

    @Test
    void removedBeforeItStoodItLeavesTheNetworkAsItIs() {
        installed.remove();
        assertSame(own, current());
    }

    @Test
    void removedAfterAnotherWasPutThereTheOtherStays() {
        installed.renew();
        MultiLayerUpdater other = new MultiLayerUpdater(network, null);
        network.setUpdater(other);
        installed.remove();
        assertSame(other, current());
        installed.putBack(step.gate());
        assertSame(other, current(), "it doesn't come back");
    }

    @Test
    void removedOverAnotherGradientViewItLeavesANewOneWithItsState() {
        installed.renew();
        network.fit(data);
        network.initGradientsView();
        installed.remove();
        assertNotSame(own, current());
        assertEquals(MultiLayerUpdater.class, current().getClass());
        assertTrue(AmpUpdate.isSameMemory(own.getStateViewArray(), current().getStateViewArray()));
    }

    @Test
    void removedAfterTwoOfItsOwnItLeavesAPlainOne() {
        installed.renew();
        installed.renew();
        installed.remove();
        assertEquals(MultiLayerUpdater.class, current().getClass());
        assertNotNull(current().getStateViewArray());
    }

    /** DL4J makes one while wrappers stand in the network, in {@code setLearningRate} for example. */
    @Test
    void oneThatWasMadeOverWrappersIsNotGivenBack() {
        for (boolean wrapped : new boolean[] {true, false}) {
            ComputationGraph graph = SmallSteps.attention();
            if (wrapped) {
                SmallSteps.unscale(graph);
            }
            BaseMultiLayerUpdater<?> found = AmpNetwork.of(graph).plainUpdater(null);
            AmpNetwork.of(graph).setUpdater(found);
            TrainingStep inGraph = SmallSteps.install(graph, new NoLossScaler(), SmallSteps.group(1, false));
            inGraph.removeUpdater();
            assertEquals(ComputationGraphUpdater.class, graph.getUpdater().getClass());
            if (wrapped) {
                assertNotSame(found, graph.getUpdater());
            } else {
                assertSame(found, graph.getUpdater());
            }
        }
    }

    @Test
    void aClosedNetworkIsLeftAlone() {
        installed.renew();
        BaseMultiLayerUpdater<?> updater = installed.updater;
        network.params().close();
        installed.remove();
        assertSame(updater, network.getUpdater(false));
    }

    @Test
    void anUpdaterThatIsKeptUpdatesTheNewViewUntilItsRemoval() {
        installed.renew();
        BaseMultiLayerUpdater<?> kept = installed.updater;
        network.initGradientsView();
        Gradient gradient = network.calculateGradients(data.getFeatures(), data.getLabels(), null, null)
                .getFirst();
        MultiLayerNetwork stock = SmallSteps.network(new Adam(0.1));
        Gradient expected = stock.calculateGradients(data.getFeatures(), data.getLabels(), null, null)
                .getFirst();
        SmallSteps.updater(stock).update(expected, 0, 0, 6, LayerWorkspaceMgr.noWorkspaces());
        kept.update(gradient, 0, 0, 6, LayerWorkspaceMgr.noWorkspaces());
        assertEquals(expected.gradient(), gradient.gradient());
        assertSame(installed.updater, current());
        installed.remove();
        AmpException e = assertThrows(
                AmpException.class, () -> kept.update(gradient, 1, 0, 6, LayerWorkspaceMgr.noWorkspaces()));
        assertTrue(e.getMessage().contains("is closed"), e::getMessage);
    }
}
