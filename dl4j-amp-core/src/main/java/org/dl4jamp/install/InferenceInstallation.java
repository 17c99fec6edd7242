package org.dl4jamp.install;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.inference.FoldedGroup;
import org.dl4jamp.inference.FoldedLayer;
import org.dl4jamp.inference.GroupVertex;
import org.dl4jamp.inference.InferenceGuard;
import org.dl4jamp.inference.PassThroughLayer;
import org.dl4jamp.inference.WatchedWeights;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.GroupLayer;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.TwinSetup;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.Place;
import org.dl4jamp.policy.FusionGroup;
import org.dl4jamp.policy.InferencePlan;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.factory.Nd4j;

/** The installation of inference mode. Updater and gradients stay as they are. */
public final class InferenceInstallation extends Installation {
    private final InferencePlan inference;
    private final Map<FusionGroup, FoldedGroup> groups = new HashMap<>();
    private final List<WatchedWeights> weights = new CopyOnWriteArrayList<>();

    public InferenceInstallation(AmpNetwork network, InferencePlan inference, InferenceGuard guard) {
        super(network, inference.plan(), guard, "InferenceMode.close");
        this.inference = inference;
    }

    @Override
    ComputeEngine.EngineSession open(ComputeEngine engine, long largestLayer) {
        return engine.inference(largestLayer);
    }

    /** Layers with parameters and output layers are wrapped in any case: they refuse to be trained. */
    @Override
    Optional<TwinLayer> wrapper(String name) {
        Layer master = masters.get(name);
        if (wrappers.isUntouched(name)) {
            return Optional.of(master)
                    .filter(layer -> layer instanceof IOutputLayer || layer.numParams() > 0)
                    .map(layer -> setup(name, Wrappers.itself(layer, session.casting()))
                            .wrapper());
        }
        return inference
                .ledBy(name)
                .map(group -> groupWrapper(name, head(group, master), group))
                .or(() -> inference
                        .followedBy(name)
                        .map(group -> groupWrapper(name, passThrough(name, master, group), group)))
                .or(() -> Optional.of(alone(name)));
    }

    private TwinSetup setup(String name, Twin twin) {
        return wrappers.setup(name, masters.get(name), twin, GradientScale.none());
    }

    private TwinLayer alone(String name) {
        // Members of a group are made in the middle of a pass.
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            Layer master = masters.get(name);
            Twin twin = session.twin(wrappers.request(name, master));
            boolean converts = twin.weights() != Twin.Weights.MASTER;
            return setup(name, converts ? twin.with(watched(twin, () -> {}, List.of(master))) : twin)
                    .wrapper();
        }
    }

    private TwinLayer groupWrapper(String name, Twin twin, FusionGroup group) {
        return new GroupLayer(setup(name, twin), folded(group).membership(name), () -> alone(name));
    }

    private FoldedGroup folded(FusionGroup group) {
        return groups.computeIfAbsent(group, made -> new FoldedGroup(made, masters));
    }

    private Twin passThrough(String name, Layer master, FusionGroup group) {
        DataType type = plan.row(name).output().dataType().orElseThrow();
        return new Twin(
                new PassThroughLayer(master, session),
                type,
                false,
                Twin.Retention.INPUT,
                null,
                folded(group).member(),
                session.casting(),
                type);
    }

    private Twin head(FusionGroup group, Layer master) {
        Layer normalization = group.normalization().map(masters::get).orElse(null);
        IActivation function = group.function()
                .map(name -> ((ActivationLayer) masters.get(name).conf().getLayer()).getActivationFn())
                .orElse(null);
        FoldedLayer folded = new FoldedLayer(
                master, normalization, function, plan.row(group.head()).precision());
        Twin twin = session.head(wrappers.request(group.head(), folded.layer()), group);
        List<Layer> of = normalization == null ? List.of(master) : List.of(master, normalization);
        return twin.with(folded(group).ledBy(folded, watched(twin, folded::fold, of)));
    }

    private WatchedWeights watched(Twin twin, Runnable preparation, List<Layer> of) {
        WatchedWeights watched = new WatchedWeights(twin.weights(), preparation, of);
        weights.add(watched);
        return watched;
    }

    @Override
    Optional<? extends GraphVertex> vertex(Place<GraphVertex> place) {
        if (place.current().get().numParams() > 0 || !wrappers.isByEngine(place.name())) {
            return Optional.empty();
        }
        VertexRequest request = wrappers.request(place);
        return inference
                .followedBy(place.name())
                .<GraphVertex>map(group -> new GroupVertex(
                        request,
                        1 - group.sum().orElseThrow().summand(),
                        folded(group).membership(place.name()),
                        session.sum(request, group),
                        session.vertex(request)))
                .or(() -> Optional.of(session.vertex(request)));
    }

    /** Has the weights of all layers taken over before they're used the next time. */
    public void markStale() {
        weights.forEach(WatchedWeights::masterSet);
    }
}
