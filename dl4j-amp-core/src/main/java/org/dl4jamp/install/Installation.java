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
import org.deeplearning4j.nn.graph.vertex.BaseGraphVertex;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.layer.StepGuard;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.layer.standin.StandIns;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.LayerPlace;
import org.dl4jamp.network.VertexPlace;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.twin.DelegatingVertex;
import org.nd4j.linalg.api.buffer.DataType;

/** Puts the wrappers and vertex types of a plan into a network, and takes them out again. */
public abstract class Installation {
    /** A reversible replacement of one layer or vertex. */
    interface Replacement {
        /** Takes the place. */
        void putIn();

        /** Gives it back for a while, after which {@link #putIn()} comes again. */
        default void pause() {
            putBack();
        }

        /** Gives it back for good, in a pause or not. */
        void putBack();
    }

    private record VertexReplacement(VertexPlace place, GraphVertex own, GraphVertex next) implements Replacement {
        @Override
        public void putIn() {
            place.replace().accept(next);
        }

        @Override
        public void putBack() {
            place.replace().accept(own);
        }
    }

    /**
     * The types that a network's own vertices cast to. They follow each pass: half precision in a pass that wrappers
     * compute, FP32 in a pass of the network's own layers. A vertex reads its type several times, so no type may change
     * within a pass.
     */
    private static final class VertexTypes implements Replacement {
        private record Vertex(BaseGraphVertex casting, DataType ours, DataType own) {}

        private final List<Vertex> vertices = new ArrayList<>();
        private boolean ours;

        /** Takes the types of the plan for vertices without a layer; they are set when a pass begins. */
        VertexTypes(AmpNetwork network, PrecisionPlan plan) {
            for (PrecisionPlan.Row row : plan.rows()) {
                if (row.output().isHalf() && !row.layer()) {
                    DataType type = row.output().dataType().orElseThrow();
                    network.castingVertex(row.name())
                            .ifPresent(casting -> vertices.add(new Vertex(casting, type, casting.getDataType())));
                }
            }
        }

        /**
         * Is called when a pass begins.
         *
         * @param wrappers whether wrappers compute it
         */
        void passBegins(boolean wrappers) {
            if (wrappers != ours) {
                ours = wrappers;
                vertices.forEach(vertex -> vertex.casting().setDataType(ours ? vertex.ours() : vertex.own()));
            }
        }

        @Override
        public void putIn() {
            // The next pass of wrappers sets the types.
        }

        @Override
        public void putBack() {
            passBegins(false);
        }
    }

    final AmpNetwork network;
    final PrecisionPlan plan;
    /** The network's own layers by their names, in its order. */
    final Map<String, Layer> masters = new LinkedHashMap<>();

    private ComputeEngine engine;
    ComputeEngine.EngineSession session;
    Wrappers wrappers;
    private final StepGuard guard;
    private final String removal;
    private final Deque<Runnable> undo = new ArrayDeque<>();
    private final List<Replacement> replacements = new ArrayList<>();
    private volatile boolean removed;

    /** @param removal name of the public method that calls {@link #remove}, for messages */
    Installation(AmpNetwork network, PrecisionPlan plan, StepGuard guard, String removal) {
        this.network = network;
        this.plan = plan;
        this.guard = guard;
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
            wrappers = new Wrappers(network, plan, guard, engine, session);
            Map<LayerPlace, TwinLayer> made = new LinkedHashMap<>();
            network.layers().forEach(place -> wrapper(place.name()).ifPresent(wrapper -> made.put(place, wrapper)));
            made.forEach((place, wrapper) ->
                    put(new LayerReplacement(network, place, wrapper, () -> wrapperInPause(place.name()))));
            VertexTypes types = new VertexTypes(network, plan);
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

    public final PrecisionPlan plan() {
        return plan;
    }

    public final String engineName() {
        return engine.name();
    }

    /** Returns how many parameters the largest layer in lower precision has. */
    private long largestLayer() {
        return masters.entrySet().stream()
                .filter(layer -> plan.row(layer.getKey()).precision().isHalf())
                .mapToLong(layer -> layer.getValue().numParams())
                .max()
                .orElse(0);
    }

    private void put(VertexPlace place, GraphVertex vertex) {
        GraphVertex next = vertex instanceof DelegatingVertex wrapper ? StandIns.vertex(wrapper) : vertex;
        put(new VertexReplacement(place, place.current().get(), next));
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
    abstract Optional<? extends GraphVertex> vertex(VertexPlace place);

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
