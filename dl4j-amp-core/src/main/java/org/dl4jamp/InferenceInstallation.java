package org.dl4jamp;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.inference.FoldedLayer;
import org.dl4jamp.inference.HandingOnLayer;
import org.dl4jamp.inference.InferenceGuard;
import org.dl4jamp.inference.WatchedWeights;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.LayerPlace;
import org.dl4jamp.network.VertexPlace;
import org.dl4jamp.policy.InferenceGroup;
import org.dl4jamp.policy.InferencePlan;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.twin.Surroundings;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;

/** Puts the wrappers and vertex types of a plan into a network that is to infer, and takes them out again. Updater and gradients stay as they are. */
final class InferenceInstallation {
    private final AmpNetwork network;
    private final PrecisionPlan plan;
    private final InferencePlan inference;
    private final Map<String, Layer> masters = new HashMap<>();
    private final InferenceGuard guard;
    private final Replacements replacements;
    private final Wrappers wrappers;
    private final List<WatchedWeights> weights = new ArrayList<>();
    private ComputeEngine.EngineSession session;

    InferenceInstallation(AmpNetwork network, InferencePlan inference, InferenceGuard guard) {
        this.network = network;
        this.inference = inference;
        this.plan = inference.plan();
        this.guard = guard;
        this.replacements = new Replacements(network);
        this.wrappers = new Wrappers(network, plan, guard);
    }

    /** Installs everything or, if that fails, nothing. */
    void install(ComputeEngine engine) {
        try {
            session = engine.inference(wrappers.largestLayer());
            Neighbours neighbours = new Neighbours(network.graph(), plan, engine.name());
            network.layers()
                    .forEach(place -> masters.put(place.name(), place.current().get()));
            Map<LayerPlace, TwinLayer> made = new LinkedHashMap<>();
            network.layers().forEach(place -> {
                if (isToBeWrapped(place)) {
                    made.put(place, wrapper(place, neighbours.of(place.name())));
                }
            });
            made.forEach(replacements::put);
            replacements.setVertexTypes(plan);
            network.vertices().forEach(place -> put(place, engine.name(), neighbours.of(place.name())));
        } catch (RuntimeException | Error e) {
            remove();
            throw e;
        }
    }

    /** Layers with parameters and output layers are wrapped in any case: they refuse to be trained. */
    private boolean isToBeWrapped(LayerPlace place) {
        Layer master = place.current().get();
        return !wrappers.isUntouched(place.name()) || master instanceof IOutputLayer || master.numParams() > 0;
    }

    private TwinLayer wrapper(LayerPlace place, Surroundings surroundings) {
        Layer master = place.current().get();
        Twin twin = twin(place.name(), master, surroundings);
        return wrappers.wrapper(place.name(), master, twin, surroundings, new GradientScale(() -> 1, false));
    }

    private Twin twin(String name, Layer master, Surroundings surroundings) {
        if (wrappers.isUntouched(name)) {
            return Wrappers.itself(master).with(session.casting());
        }
        if (inference.followedBy(name).isPresent()) {
            DataType type = plan.row(name).output().dataType().orElseThrow();
            Layer handingOn = new HandingOnLayer(master, session.handover());
            return new Twin(
                    handingOn, type, false, Twin.Retention.INPUT, null, Twin.Weights.MASTER, session.casting(), type);
        }
        return inference
                .ledBy(name)
                .map(group -> head(group, master, surroundings))
                .orElseGet(() ->
                        watched(session.twin(wrappers.request(name, master, surroundings)), () -> {}, List.of(master)));
    }

    private Twin head(InferenceGroup group, Layer master, Surroundings surroundings) {
        Layer normalization = group.normalization().map(masters::get).orElse(null);
        FoldedLayer folded = new FoldedLayer(
                master, normalization, group.function().map(this::functionOf).orElse(null));
        Twin twin = session.head(wrappers.request(group.head(), folded.layer(), surroundings), group);
        return watched(twin, folded::fold, normalization == null ? List.of(master) : List.of(master, normalization));
    }

    private IActivation functionOf(String name) {
        return ((ActivationLayer) masters.get(name).conf().getLayer()).getActivationFn();
    }

    private Twin watched(Twin twin, Runnable preparation, List<Layer> of) {
        boolean made = of.size() > 1 || twin.weights() != Twin.Weights.MASTER;
        if (!made) {
            return twin;
        }
        WatchedWeights watched = new WatchedWeights(twin.weights(), preparation, of);
        weights.add(watched);
        return twin.with(watched);
    }

    private void put(VertexPlace place, String engine, Surroundings surroundings) {
        GraphVertex master = place.current().get();
        PrecisionPlan.Row row = plan.row(place.name());
        if (master.numParams() == 0 && row.engine().equals(engine) && !wrappers.isUntouched(place.name())) {
            VertexRequest request = new VertexRequest(
                    place.name(),
                    master,
                    network.graph().node(place.name()).vertex(),
                    row.output().dataType().orElseThrow(),
                    surroundings,
                    plan.fusion(place.name()),
                    guard.gate());
            replacements.put(
                    place,
                    inference
                            .followedBy(place.name())
                            .map(group -> session.sum(request, group))
                            .orElseGet(() -> session.vertex(request)));
        }
    }

    /** Has the weights of all layers taken over before they're used the next time. */
    void markStale() {
        weights.forEach(WatchedWeights::markStale);
    }

    /** Takes everything out again, in the reverse order, whatever fails on the way. */
    void remove() {
        replacements.undo(() -> {
            if (session != null) {
                session.close();
            }
        });
    }
}
