package org.dl4jamp.install;

import java.util.HashMap;
import java.util.LinkedHashMap;
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
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.LayerPlace;
import org.dl4jamp.network.VertexPlace;
import org.dl4jamp.policy.FusionGroup;
import org.dl4jamp.policy.InferencePlan;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Puts the wrappers and vertex types of a plan into a network that is to infer, and takes them out again. Updater and
 * gradients stay as they are.
 */
public final class InferenceInstallation {
    private final AmpNetwork network;
    private final PrecisionPlan plan;
    private final InferencePlan inference;
    private final Map<String, Layer> masters = new HashMap<>();
    private final InferenceGuard guard;
    private final Replacements replacements;
    private final Wrappers wrappers;
    private final Map<FusionGroup, FoldedGroup> groups = new HashMap<>();
    private final List<WatchedWeights> weights = new CopyOnWriteArrayList<>();
    private ComputeEngine.EngineSession session;

    public InferenceInstallation(AmpNetwork network, InferencePlan inference, InferenceGuard guard) {
        this.network = network;
        this.inference = inference;
        this.plan = inference.plan();
        this.guard = guard;
        this.replacements = new Replacements(network);
        this.wrappers = new Wrappers(network, plan, guard);
    }

    /** Installs everything or, if that fails, nothing. */
    public void install(ComputeEngine engine) {
        try {
            session = engine.inference(wrappers.largestLayer());
            replacements.onUndo(session::close);
            LayerContexts neighbours = new LayerContexts(network, plan, engine, session);
            network.layers()
                    .forEach(place -> masters.put(place.name(), place.current().get()));
            Map<LayerPlace, TwinLayer> made = new LinkedHashMap<>();
            network.layers().forEach(place -> {
                if (isToBeWrapped(place)) {
                    made.put(place, wrapper(place, neighbours.of(place.name())));
                }
            });
            made.forEach((place, wrapper) -> replacements.put(place, wrapper, Optional::empty));
            replacements.setVertexTypes(plan, guard.gate());
            network.vertices().forEach(place -> put(place, engine, neighbours.of(place.name())));
            guard.gate().open("enabled", () -> {});
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

    private TwinLayer wrapper(LayerPlace place, LayerContext surroundings) {
        String name = place.name();
        Layer master = place.current().get();
        if (wrappers.isUntouched(name)) {
            return wrapper(name, master, Wrappers.itself(master, session.casting()), surroundings);
        }
        Optional<FusionGroup> led = inference.ledBy(name);
        if (led.isPresent()) {
            return groupWrapper(name, master, head(led.get(), master, surroundings), led.get(), surroundings);
        }
        return inference
                .followedBy(name)
                .map(group -> groupWrapper(name, master, handingOn(name, master, group), group, surroundings))
                .orElseGet(() -> alone(name, master, surroundings));
    }

    private TwinLayer wrapper(String name, Layer master, Twin twin, LayerContext surroundings) {
        return wrappers.wrapper(name, master, twin, surroundings, new GradientScale(() -> 1, false));
    }

    private TwinLayer alone(String name, Layer master, LayerContext surroundings) {
        // Members of a group are made in the middle of a pass.
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            Twin twin = session.twin(wrappers.request(name, master, surroundings));
            boolean converts = twin.weights() != Twin.Weights.MASTER;
            Twin watched = converts ? twin.with(watched(twin, () -> {}, List.of(master))) : twin;
            return wrapper(name, master, watched, surroundings);
        }
    }

    private TwinLayer groupWrapper(String name, Layer master, Twin twin, FusionGroup group, LayerContext surroundings) {
        return wrappers.groupWrapper(
                name,
                master,
                twin,
                surroundings,
                folded(group).membership(name),
                () -> alone(name, master, surroundings));
    }

    private FoldedGroup folded(FusionGroup group) {
        return groups.computeIfAbsent(
                group,
                made -> new FoldedGroup(
                        made,
                        made.members().stream()
                                .filter(masters::containsKey)
                                .map(masters::get)
                                .toList()));
    }

    private Twin handingOn(String name, Layer master, FusionGroup group) {
        DataType type = plan.row(name).output().dataType().orElseThrow();
        Layer handingOn = new PassThroughLayer(master, session);
        return new Twin(
                handingOn,
                type,
                false,
                Twin.Retention.INPUT,
                null,
                folded(group).member(),
                session.casting(),
                type);
    }

    private Twin head(FusionGroup group, Layer master, LayerContext surroundings) {
        Layer normalization = group.normalization().map(masters::get).orElse(null);
        FoldedLayer folded = new FoldedLayer(
                master,
                normalization,
                group.function().map(this::functionOf).orElse(null),
                plan.row(group.head()).precision());
        Twin twin = session.head(wrappers.request(group.head(), folded.layer(), surroundings), group);
        List<Layer> of = normalization == null ? List.of(master) : List.of(master, normalization);
        return twin.with(folded(group).ledBy(folded, watched(twin, folded::fold, of)));
    }

    private WatchedWeights watched(Twin twin, Runnable preparation, List<Layer> of) {
        WatchedWeights watched = new WatchedWeights(twin.weights(), preparation, of);
        weights.add(watched);
        return watched;
    }

    private IActivation functionOf(String name) {
        return ((ActivationLayer) masters.get(name).conf().getLayer()).getActivationFn();
    }

    private void put(VertexPlace place, ComputeEngine engine, LayerContext surroundings) {
        if (place.current().get().numParams() == 0 && wrappers.isOn(engine, place.name())) {
            VertexRequest request = wrappers.request(place, surroundings);
            replacements.put(
                    place,
                    inference
                            .followedBy(place.name())
                            .<GraphVertex>map(group -> new GroupVertex(
                                    request,
                                    1 - group.sum().orElseThrow().summand(),
                                    folded(group).membership(place.name()),
                                    session.sum(request, group),
                                    session.vertex(request)))
                            .orElseGet(() -> session.vertex(request)));
        }
    }

    /** Has the weights of all layers taken over before they're used the next time. */
    public void markStale() {
        weights.forEach(WatchedWeights::masterSet);
    }

    /** Takes everything out again, in the reverse order, whatever fails on the way. */
    public void remove() {
        replacements.undo();
    }
}
