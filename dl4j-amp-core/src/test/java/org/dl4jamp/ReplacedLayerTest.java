package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.ops.transforms.Transforms;

/**
 * Inputs that layers get after they were replaced: a pass of another thread may have read a layer from the network just
 * before a pause began or ended.
 */
class ReplacedLayerTest {
    private final MultiLayerNetwork network = Networks.init(Networks.mlp());
    private final MixedPrecision amp = MixedPrecision.enable(
            network,
            AmpConfig.builder().precision(Precision.HALF).engine("nd4j").build());
    private final Layer own = MixedPrecision.master(network.getOutputLayer());
    private final INDArray input = Networks.uniform(1, 3, own.getParam("W").size(0));

    private void assertReachesTheNetworksOwn(Layer replaced) {
        assertNotSame(replaced, network.getOutputLayer());
        replaced.setInput(input, LayerWorkspaceMgr.noWorkspaces());
        assertEquals(input, own.input());
    }

    @Test
    void inputOfAPauseThatHasEndedIsGivenToTheNetworksOwn() {
        Layer inPause;
        try (Pause pause = amp.pause()) {
            inPause = network.getOutputLayer();
        }
        assertReachesTheNetworksOwn(inPause);
    }

    @Test
    void inputOfMixedPrecisionInAPauseIsGivenToTheNetworksOwn() {
        Layer mixed = network.getOutputLayer();
        try (Pause pause = amp.pause()) {
            assertReachesTheNetworksOwn(mixed);
        }
    }

    @Test
    void inputAfterClosingIsGivenToTheNetworksOwn() {
        Layer mixed = network.getOutputLayer();
        amp.close();
        assertReachesTheNetworksOwn(mixed);
    }

    /** The layer that the network has in the pause is called next, and was given nothing itself. */
    @Test
    void aPassGoesOnInAPauseWithTheInputOfTheLayerThatWasReplaced() {
        Layer mixed = network.getOutputLayer();
        INDArray expected = Transforms.softmax(input.mmul(own.getParam("W")).addRowVector(own.getParam("b")));
        try (Pause pause = amp.pause()) {
            mixed.setInput(input, LayerWorkspaceMgr.noWorkspaces());
            INDArray output = network.getOutputLayer().activate(false, LayerWorkspaceMgr.noWorkspaces());
            assertTrue(expected.equalsWithEps(output, 1e-6), () -> expected + " and " + output);
        }
    }

    /** Another pass that the network's own layers compute would take it for its own. */
    @Test
    void inputThatTheNetworksOwnHasDoesntWaitForAnotherPass() {
        Layer mixed = network.getOutputLayer();
        Layer other = MixedPrecision.master(network.getLayer(0));
        try (Pause pause = amp.pause()) {
            assertReachesTheNetworksOwn(mixed);
        }
        ((TwinLayer) StandIn.behind(mixed)).handOver(other);
        assertNull(other.input());
    }
}
