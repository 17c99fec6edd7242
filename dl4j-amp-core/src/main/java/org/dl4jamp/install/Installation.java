package org.dl4jamp.install;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.TwinRequest;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.StepGuard;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.TwinSetup;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.layer.standin.StandIns;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.Place;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.policy.PrecisionPlanner;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.twin.Casting;
import org.dl4jamp.twin.DelegatingVertex;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;

/** Puts the wrappers and vertex types of a plan into a network, and takes them out again. */
public abstract class Installation {
    final AmpNetwork network;
    final PrecisionPlan plan;
    /** The network's own layers by their names, in its order. */
    final Map<String, Layer> masters = new LinkedHashMap<>();

    private ComputeEngine engine;
    ComputeEngine.EngineSession session;
    private LayerContexts contexts;
    private final StepGuard guard;
    final GradientScale gradientScale;
    private final String removal;
    private final Deque<Runnable> undo = new ArrayDeque<>();
    private final List<Replacement> replacements = new ArrayList<>();
    private volatile boolean removed;

    /** @param removal name of the public method that calls {@link #remove}, for messages */
    Installation(AmpNetwork network, PrecisionPlan plan, StepGuard guard, GradientScale gradientScale, String removal) {
        this.network = network;
        this.plan = plan;
        this.guard = guard;
        this.gradientScale = gradientScale;
        this.removal = removal;
    }

    /** Installs everything or, if that fails, nothing. The caller holds the network's monitor. */
    final void install(ComputeEngine with) {
        engine = with;
        try {
            network.layers()
                    .forEach(place -> masters.put(place.name(), place.current().get()));
            session = open(engine, largestLayer());
            undo.push(session::close);
            undo.push(this::end);
            contexts = new LayerContexts(network, plan, engine, session);
            Map<Place<Layer>, TwinLayer> made = new LinkedHashMap<>();
            network.layers().forEach(place -> wrapper(place.name()).ifPresent(wrapper -> made.put(place, wrapper)));
            made.forEach((place, wrapper) ->
                    put(new Replacement.OfLayer(network, place, wrapper, () -> wrapperInPause(place.name()))));
            Replacement.VertexTypes types = new Replacement.VertexTypes(network, plan);
            guard.gate().onPass(types::passBegins);
            put(types);
            network.vertices().forEach(place -> vertex(place).ifPresent(vertex -> put(place, vertex)));
            begin();
            guard.gate().open("enabled", () -> {});
        } catch (RuntimeException | Error e) {
            undo();
            throw e;
        }
    }

    /** Returns the guard that the wrappers in a network share; empty if they have none of that kind. */
    static <T extends StepGuard> Optional<T> guardOf(AmpNetwork network, Class<T> kind) {
        return network.layers().stream()
                .map(place -> StandIn.behind(place.current().get()))
                .filter(TwinLayer.class::isInstance)
                .map(layer -> ((TwinLayer) layer).guard())
                .filter(kind::isInstance)
                .map(kind::cast)
                .findFirst();
    }

    /** Returns the plan, corrected where the engine has refused the shape of an input since. */
    public final PrecisionPlan plan() {
        return contexts == null ? plan : contexts.corrected();
    }

    public final String engineName() {
        return engine.name();
    }

    boolean isUntouched(String name) {
        return plan.row(name).engine().equals(PrecisionPlanner.UNTOUCHED);
    }

    /** Returns the engine's twin of a layer, or the layer itself if the plan leaves it as it is. */
    Twin twin(String name) {
        Layer master = masters.get(name);
        return isUntouched(name) ? itself(master, session.casting()) : session.twin(request(name, master));
    }

    /** Returns what decides which passes a layer or vertex leaves to DL4J. */
    LayerContext.PassCheck check(String name) {
        return contexts.of(name).check();
    }

    /** Returns the request for the twin of a layer. */
    TwinRequest request(String name, Layer master) {
        PrecisionPlan.Row row = plan.row(name);
        return new TwinRequest(
                name,
                master,
                row.precision(),
                storage(),
                row.input().dataType().orElseThrow(),
                emitted(name),
                contexts.of(name),
                plan.fusion(name));
    }

    /** Returns whether the engine computes a vertex of the plan. */
    boolean isByEngine(String name) {
        return !isUntouched(name) && plan.row(name).engine().equals(engineName());
    }

    /** Returns the request for a vertex that the engine computes. */
    VertexRequest request(Place<GraphVertex> place) {
        return new VertexRequest(
                place.name(),
                place.current().get(),
                network.graph().node(place.name()).vertex(),
                emitted(place.name()),
                storage(),
                gradientScale::gradientType,
                contexts.of(place.name()),
                plan.fusion(place.name()),
                guard.gate());
    }

    /** Returns a layer that computes for itself, in FP32. Input that isn't floating-point isn't cast. */
    static Twin itself(Layer master, Casting casting) {
        return new Twin(master, DataType.FLOAT, false, Twin.Retention.CAST_INPUT, null, Twin.Weights.MASTER)
                .with(new Casting.OfRowNumbers(casting));
    }

    /** Returns the setup of a wrapper with the input and output types of the plan. */
    TwinSetup setup(String name, Twin twin) {
        return new TwinSetup(
                name, masters.get(name), twin, storage(), emitted(name), contexts.of(name), gradientScale, guard);
    }

    private DataType storage() {
        return plan.precision().dataType().orElseThrow();
    }

    private DataType emitted(String name) {
        return plan.row(name).output().dataType().orElseThrow();
    }

    /** Returns a wrapper in which a layer computes for itself, with FP32 input and output, in any pass. */
    TwinLayer floatWrapper(String name) {
        Layer master = masters.get(name);
        Twin twin = itself(master, Casting.ND4J);
        LayerContext context = contexts.of(name).withoutTurn();
        return new TwinSetup(name, master, twin, DataType.FLOAT, DataType.FLOAT, context, GradientScale.none(), guard)
                .wrapper();
    }

    /** Returns how many parameters the largest layer in lower precision has. */
    private long largestLayer() {
        return masters.entrySet().stream()
                .filter(layer -> plan.row(layer.getKey()).precision().isHalf())
                .mapToLong(layer -> layer.getValue().numParams())
                .max()
                .orElse(0);
    }

    private void put(Place<GraphVertex> place, GraphVertex vertex) {
        GraphVertex next = vertex instanceof DelegatingVertex wrapper ? StandIns.vertex(wrapper) : vertex;
        put(new Replacement.OfVertex(place, place.current().get(), next));
    }

    private void put(Replacement replacement) {
        undo.push(replacement::putBack);
        replacements.add(replacement);
        replacement.putIn();
    }

    abstract ComputeEngine.EngineSession open(ComputeEngine engine, long largestLayer);

    /** Returns the wrapper of a layer; empty if the layer stays as it is. */
    abstract Optional<TwinLayer> wrapper(String name);

    /** Returns the wrapper that a layer has to have in a pause, too; empty if it needs none. */
    Optional<TwinLayer> wrapperInPause(String name) {
        return Optional.empty();
    }

    /** Returns what replaces a vertex; empty if the vertex stays as it is. */
    abstract Optional<? extends GraphVertex> vertex(Place<GraphVertex> place);

    /** Called when all layers and vertices are in. */
    void begin() {}

    /** Called when all layers and vertices are the network's own again, before the session is closed. */
    void end() {}

    /**
     * Gives the network its own layers, vertices and vertex types back until {@link #resume}; all of them or, if that
     * fails, none. The engine keeps what it has made.
     */
    final void pause() {
        try {
            for (int i = replacements.size() - 1; i >= 0; i--) {
                replacements.get(i).pause();
            }
        } catch (RuntimeException | Error e) {
            resume();
            throw e;
        }
    }

    /** Puts everything in again that was there before the pause. */
    final void resume() {
        replacements.forEach(Replacement::putIn);
    }

    /** Returns whether {@link #remove()} has been called. */
    public final boolean isRemoved() {
        return removed;
    }

    /**
     * Takes everything out again, once, after all passes through the wrappers have ended.
     *
     * @throws AmpException within a pass of the network; nothing has changed then
     */
    public final void remove() {
        if (removed) {
            return;
        }
        Model model = network.model();
        NetworkCall.refuseInPass(removal, model);
        // DL4J's networks hold their monitor in fit and output; for other passes the gate waits.
        synchronized (model) {
            if (!removed) {
                guard.gate().close(model, () -> {
                    removed = true;
                    undo();
                });
            }
        }
    }

    /** Takes everything out again, in the reverse order, whatever fails on the way. */
    private void undo() {
        RuntimeException failure = null;
        while (!undo.isEmpty()) {
            try {
                undo.pop().run();
            } catch (RuntimeException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
