package org.dl4jamp.install;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Chain;
import org.dl4jamp.Networks;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.TwinSetup;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.Place;
import org.dl4jamp.twin.Casting;
import org.dl4jamp.twin.Gate;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

class ReplacementTest {
    private final MultiLayerNetwork network = Networks.init(Networks.mlp());
    private final AmpNetwork view = AmpNetwork.of(network);
    private final Place<Layer> real = view.layers().get(0);
    private final Layer own = real.current().get();
    private final List<Optional<INDArray>> inputsWhenPutIn = new ArrayList<>();
    private final Place<Layer> observed = new Place<>(real.name(), real.current(), layer -> {
        inputsWhenPutIn.add(Optional.ofNullable(layer.input()));
        real.replace().accept(layer);
    });

    /** A pass of another thread may call the layer, without a lock, as soon as it is in the network. */
    @Test
    void aLayerHasItsInputBeforeAPassCanCallIt() {
        InferenceInstallation.Guard guard = new InferenceInstallation.Guard(this, new Gate());
        TwinLayer wrapper = new TwinSetup(
                        "layer",
                        own,
                        Installation.itself(own, Casting.ND4J),
                        DataType.FLOAT,
                        DataType.FLOAT,
                        Chain.CONTEXT,
                        GradientScale.none(),
                        guard)
                .wrapper();
        Replacement replacement = new Replacement.OfLayer(view, observed, wrapper, Optional::empty);
        replacement.putIn();
        guard.gate().open("enabled", () -> {});
        INDArray input = Networks.uniform(1, 2, own.getParam("W").size(0));
        network.getLayer(0).setInput(input, LayerWorkspaceMgr.noWorkspaces());
        replacement.putBack();
        assertSame(own, network.getLayer(0));
        assertEquals(Optional.of(input), inputsWhenPutIn.get(1));
    }
}
