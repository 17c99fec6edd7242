package org.dl4jamp.install;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.standin.StandIns;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.LayerPlace;
import org.dl4jamp.network.VertexPlace;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.twin.DelegatingVertex;
import org.dl4jamp.twin.Gate;

/**
 * All that replaces a network's own layers, vertices and vertex types, and is removed again, for a pause or for good.
 */
final class Replacements {
    private final AmpNetwork network;
    private final Deque<Runnable> undo = new ArrayDeque<>();
    private final List<Replacement> exchanges = new ArrayList<>();

    Replacements(AmpNetwork network) {
        this.network = network;
    }

    /** Has something else taken out, or back, in its turn. */
    void onUndo(Runnable action) {
        undo.push(action);
    }

    /**
     * Puts a wrapper's stand-in where a layer stands.
     *
     * @param inPause the wrapper that the layer has to have in a pause, too; empty if it needs none
     */
    void put(LayerPlace place, TwinLayer wrapper, Supplier<Optional<TwinLayer>> inPause) {
        put(new LayerReplacement(network, place, wrapper, inPause));
    }

    private void put(Replacement exchange) {
        undo.push(exchange::putBack);
        exchanges.add(exchange);
        exchange.putIn();
    }

    /** Puts a vertex, or the stand-in of a vertex's wrapper, where another stands. */
    void put(VertexPlace place, GraphVertex vertex) {
        GraphVertex master = place.current().get();
        GraphVertex next = vertex instanceof DelegatingVertex wrapper ? StandIns.vertex(wrapper) : vertex;
        put(new Setting(
                () -> place.replace().accept(next), () -> place.replace().accept(master)));
    }

    /** Lets the network's own vertices cast to the plan's types, in the passes that wrappers compute. */
    void setVertexTypes(PrecisionPlan plan, Gate gate) {
        VertexTypes types = new VertexTypes(network, plan);
        gate.onPass(types::passBegins);
        // The next pass of wrappers sets the types.
        put(new Setting(() -> {}, () -> types.passBegins(false)));
    }

    private record Setting(Runnable there, Runnable back) implements Replacement {
        @Override
        public void putIn() {
            there.run();
        }

        @Override
        public void putBack() {
            back.run();
        }
    }

    /**
     * Gives the network its own layers, vertices and vertex types back until {@link #resume}; all of them or, if that
     * fails, none.
     */
    void pause() {
        try {
            for (int i = exchanges.size() - 1; i >= 0; i--) {
                exchanges.get(i).pause();
            }
        } catch (RuntimeException | Error e) {
            resume();
            throw e;
        }
    }

    /** Puts everything in again that was there before the pause. */
    void resume() {
        exchanges.forEach(Replacement::putIn);
    }

    /** Takes everything out again, in the reverse order, whatever fails on the way. */
    void undo() {
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
