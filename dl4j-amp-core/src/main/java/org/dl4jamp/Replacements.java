package org.dl4jamp;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.standin.StandIns;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.LayerPlace;
import org.dl4jamp.network.VertexPlace;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.twin.DelegatingVertex;

/** What has been put into a network in place of its own layers, vertices and vertex types, and is to be taken out again. */
final class Replacements {
    private final AmpNetwork network;
    private final Deque<Runnable> undo = new ArrayDeque<>();

    Replacements(AmpNetwork network) {
        this.network = network;
    }

    /** Has something else taken out, or back, in its turn. */
    void onUndo(Runnable action) {
        undo.push(action);
    }

    /** Puts a wrapper's stand-in where a layer stands. Recurrent state goes to the layer that computes. */
    void put(LayerPlace place, TwinLayer wrapper) {
        Layer master = wrapper.master();
        moveRecurrentState(master, wrapper.twin().compute());
        Layer standIn = StandIns.layer(wrapper);
        place.replace().accept(standIn);
        undo.push(() -> {
            moveRecurrentState(wrapper.twin().compute(), master);
            placeOf(standIn, place).ifPresent(present -> present.replace().accept(master));
        });
    }

    private static void moveRecurrentState(Layer from, Layer to) {
        if (from instanceof BaseWrapperLayer fromWrapper && to instanceof BaseWrapperLayer toWrapper) {
            moveRecurrentState(fromWrapper.getUnderlying(), toWrapper.getUnderlying());
        }
        if (from != to && from instanceof BaseRecurrentLayer<?> source && to instanceof BaseRecurrentLayer<?> target) {
            target.rnnSetPreviousState(source.rnnGetPreviousState());
            target.rnnSetTBPTTState(source.rnnGetTBPTTState());
        }
    }

    /** Where a stand-in stands now: others may have put it into a wrapper of theirs, which then stays. */
    private Optional<LayerPlace> placeOf(Layer standIn, LayerPlace before) {
        return before.current().get() == standIn
                ? Optional.of(before)
                : network.layers().stream()
                        .filter(place -> place.current().get() == standIn)
                        .findFirst();
    }

    /** Puts a vertex, or the stand-in of a vertex's wrapper, where another stands. */
    void put(VertexPlace place, GraphVertex vertex) {
        GraphVertex master = place.current().get();
        place.replace().accept(vertex instanceof DelegatingVertex wrapper ? StandIns.vertex(wrapper) : vertex);
        undo.push(() -> place.replace().accept(master));
    }

    /** Has vertices cast to the types that the plan says. */
    void setVertexTypes(PrecisionPlan plan) {
        for (PrecisionPlan.Row row : plan.rows()) {
            if (row.output().isHalf()
                    && network.layers().stream().noneMatch(place -> place.name().equals(row.name()))) {
                network.setVertexType(row.name(), row.output().dataType().orElseThrow())
                        .ifPresent(before -> undo.push(() -> network.setVertexType(row.name(), before)));
            }
        }
    }

    /** Takes everything out again, in the reverse order, whatever fails on the way, and then closes what was there for it. */
    void undo(Runnable last) {
        undo.addLast(last);
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
