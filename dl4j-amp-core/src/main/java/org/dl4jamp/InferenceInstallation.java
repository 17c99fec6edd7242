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
import org.dl4jamp.engine.TwinRequest;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.inference.FoldedLayer;
import org.dl4jamp.inference.HandingOnLayer;
import org.dl4jamp.inference.InferenceGuard;
import org.dl4jamp.inference.WatchedWeights;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.LossScalingLayer;
import org.dl4jamp.layer.RecurrentTwinLayer;
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
    /** What the plan calls the engine of a layer that is left as it is. */
    private static final String UNTOUCHED = "dl4j";

    private final AmpNetwork network;
    private final PrecisionPlan plan;
    private final InferencePlan inference;
    private final Map<String, Layer> masters = new HashMap<>();
    private final InferenceGuard guard;
    private final Replacements replacements;
    private final List<WatchedWeights> weights = new ArrayList<>();
    private ComputeEngine.EngineSession session;

    InferenceInstallation(AmpNetwork network, InferencePlan inference, InferenceGuard guard) {
        this.network = network;
        this.inference = inference;
        this.plan = inference.plan();
        this.guard = guard;
        this.replacements = new Replacements(network);
    }

    /** Installs everything or, if that fails, nothing. */
    void install(ComputeEngine engine) {
        try {
            session = engine.inference(largestLayer());
            Neighbours neighbours = new Neighbours(network.graph(), plan, engine.name());
            network.layers()
                    .forEach(place -> masters.put(place.name(), place.current().get()));
            Map<LayerPlace, TwinLayer> wrappers = new LinkedHashMap<>();
            network.layers().forEach(place -> {
                if (isToBeWrapped(place)) {
                    wrappers.put(place, wrapper(place, neighbours.of(place.name())));
                }
            });
            wrappers.forEach(replacements::put);
            replacements.setVertexTypes(plan);
            network.vertices().forEach(place -> put(place, engine.name(), neighbours.of(place.name())));
        } catch (RuntimeException | Error e) {
            remove();
            throw e;
        }
    }

    private long largestLayer() {
        return network.layers().stream()
                .filter(place -> plan.row(place.name()).precision().isHalf())
                .mapToLong(place -> place.current().get().numParams())
                .max()
                .orElse(0);
    }

    /** Layers with parameters and output layers are wrapped in any case: they refuse to be trained. */
    private boolean isToBeWrapped(LayerPlace place) {
        Layer master = place.current().get();
        return !isUntouched(plan.row(place.name())) || master instanceof IOutputLayer || master.numParams() > 0;
    }

    private static boolean isUntouched(PrecisionPlan.Row row) {
        return row.engine().equals(UNTOUCHED);
    }

    private TwinLayer wrapper(LayerPlace place, Surroundings surroundings) {
        Layer master = place.current().get();
        PrecisionPlan.Row row = plan.row(place.name());
        DataType storage = plan.precision().dataType().orElseThrow();
        DataType emitted = row.output().dataType().orElseThrow();
        Twin twin = twin(place.name(), master, surroundings);
        GradientScale unscaled = new GradientScale(() -> 1, false);
        if (master instanceof IOutputLayer) {
            return new LossScalingLayer(master, twin, storage, emitted, surroundings, unscaled, guard);
        }
        return RecurrentTwinLayer.isRecurrent(master)
                ? new RecurrentTwinLayer(master, twin, storage, emitted, surroundings, unscaled, guard)
                : new TwinLayer(master, twin, storage, emitted, surroundings, unscaled, guard);
    }

    private Twin twin(String name, Layer master, Surroundings surroundings) {
        if (isUntouched(plan.row(name))) {
            return new Twin(master, DataType.FLOAT, false, Twin.Retention.CAST_INPUT, null, Twin.Weights.MASTER)
                    .with(session.casting());
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
                .orElseGet(() -> watched(session.twin(request(name, master, surroundings)), () -> {}, List.of(master)));
    }

    private Twin head(InferenceGroup group, Layer master, Surroundings surroundings) {
        Layer normalization = group.normalization().map(masters::get).orElse(null);
        FoldedLayer folded = new FoldedLayer(
                master, normalization, group.function().map(this::functionOf).orElse(null));
        Twin twin = session.head(request(group.head(), folded.layer(), surroundings), group);
        return watched(twin, folded::fold, normalization == null ? List.of(master) : List.of(master, normalization));
    }

    private IActivation functionOf(String name) {
        return ((ActivationLayer) masters.get(name).conf().getLayer()).getActivationFn();
    }

    private TwinRequest request(String name, Layer master, Surroundings surroundings) {
        PrecisionPlan.Row row = plan.row(name);
        return new TwinRequest(
                name,
                master,
                row.precision(),
                plan.precision().dataType().orElseThrow(),
                row.input().dataType().orElseThrow(),
                row.output().dataType().orElseThrow(),
                surroundings,
                plan.fusion(name));
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
        if (master.numParams() == 0 && row.engine().equals(engine) && !isUntouched(row)) {
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
