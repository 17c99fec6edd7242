package org.dl4jamp.install;

import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.vertex.BaseGraphVertex;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;
import org.deeplearning4j.nn.layers.recurrent.RnnOutputLayer;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.dl4jamp.dl4j.HiddenFields;
import org.dl4jamp.layer.LayerWorkspaces;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.layer.standin.StandIns;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.Place;
import org.dl4jamp.policy.PrecisionPlan;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

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

    /** That of a vertex. */
    record OfVertex(Place<GraphVertex> place, GraphVertex own, GraphVertex next) implements Replacement {
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
    final class VertexTypes implements Replacement {
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

    /**
     * A reversible replacement of one layer by a wrapper's stand-in, for a while or for good. Recurrent state and masks
     * go to the layer that computes.
     */
    final class OfLayer implements Replacement {
        private final AmpNetwork network;
        private final Place<Layer> place;
        private final TwinLayer wrapper;
        private final Supplier<Optional<TwinLayer>> wrapperInPause;
        private final Layer own;
        private final Layer mixed;
        private Layer inPause;
        private Layer present;
        private INDArray gradients;

        /** @param wrapperInPause the wrapper that the layer has to have in a pause, too; empty if it needs none */
        OfLayer(
                AmpNetwork network,
                Place<Layer> place,
                TwinLayer wrapper,
                Supplier<Optional<TwinLayer>> wrapperInPause) {
            this.network = network;
            this.place = place;
            this.wrapper = wrapper;
            this.wrapperInPause = wrapperInPause;
            this.own = wrapper.master();
            this.present = own;
            this.mixed = standIn(wrapper);
            this.gradients = own.getGradientsViewArray();
        }

        @Override
        public void putIn() {
            if (own.getGradientsViewArray() != gradients) {
                wrapper.setBackpropGradientsViewArray(own.getGradientsViewArray());
            }
            exchange(mixed);
        }

        @Override
        public void pause() {
            if (inPause == null) {
                inPause = wrapperInPause.get().map(this::standIn).orElse(own);
            }
            gradients = own.getGradientsViewArray();
            exchange(inPause);
        }

        @Override
        public void putBack() {
            exchange(own);
        }

        /** Returns a wrapper's stand-in, which has the state of the layer that computes when it's made. */
        private Layer standIn(TwinLayer of) {
            // A pass of another thread may be within one of the two meanwhile.
            withRecurrent(computing(present), of.twin().compute(), HiddenFields::shareState);
            return StandIns.layer(of);
        }

        /** Returns the layer that computes for one in the network: a twin's or itself. */
        private static Layer computing(Layer layer) {
            return StandIn.behind(layer) instanceof TwinLayer wrapper
                    ? wrapper.twin().compute()
                    : layer;
        }

        /** Gives the place to the next layer, even where what goes along fails: then it throws afterwards. */
        private void exchange(Layer next) {
            try {
                withRecurrent(computing(present), computing(next), OfLayer::moveState);
                moveMask(present, next);
                HiddenFields.moveNoise(computing(present), computing(next));
                if (StandIn.behind(present) instanceof TwinLayer leaving) {
                    leaving.setReplaced(true);
                    // A graph gives layers their inputs long before their turn.
                    leaving.handOver(next);
                }
            } finally {
                if (StandIn.behind(next) instanceof TwinLayer entering) {
                    entering.setReplaced(false);
                }
                // Last: from here on a pass of another thread calls it, without a lock, and it has its input by then.
                VarHandle.releaseFence();
                placeOf(present).ifPresent(found -> found.replace().accept(next));
                present = next;
            }
        }

        /** Calls an action with the recurrent layers of two candidates, which DL4J's wrappers may be around. */
        private static void withRecurrent(
                Layer from, Layer to, BiConsumer<BaseRecurrentLayer<?>, BaseRecurrentLayer<?>> action) {
            if (from instanceof BaseWrapperLayer fromWrapper && to instanceof BaseWrapperLayer toWrapper) {
                withRecurrent(fromWrapper.getUnderlying(), toWrapper.getUnderlying(), action);
            }
            if (from != to
                    && from instanceof BaseRecurrentLayer<?> source
                    && to instanceof BaseRecurrentLayer<?> target) {
                action.accept(source, target);
            }
        }

        private static void moveState(BaseRecurrentLayer<?> source, BaseRecurrentLayer<?> target) {
            // Reading it makes a twin leave the arrays as they are from now on.
            Map<String, INDArray> state = source.rnnGetPreviousState();
            if (!HiddenFields.isStateShared(source, target)) {
                target.rnnSetPreviousState(state);
                target.rnnSetTBPTTState(source.rnnGetTBPTTState());
            }
        }

        /**
         * Gives a mask to the next layer: DL4J's layers keep theirs until they are cleared, so {@code rnnTimeStep} may
         * use one of an earlier pass. Output layers of sequences keep theirs in an order of their own, and get one with
         * the labels of each pass. A mask whose workspace has been closed is dropped: ND4J refuses to read it.
         */
        private static void moveMask(Layer from, Layer to) {
            if (from == to || to instanceof RnnOutputLayer) {
                return;
            }
            INDArray mask = from.getMaskArray();
            if (mask != null && !LayerWorkspaces.isReadable(mask)) {
                // Wrappers cast masks as they get them.
                to.setMaskArray(null);
                return;
            }
            boolean rounded = mask != null && mask.dataType().isFPType() && mask.dataType() != DataType.FLOAT;
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                to.setMaskArray(rounded ? mask.castTo(DataType.FLOAT) : mask);
            }
        }

        /** Returns a layer's current place: another library may have put it into a wrapper, which then stays. */
        private Optional<Place<Layer>> placeOf(Layer layer) {
            return place.current().get() == layer
                    ? Optional.of(place)
                    : network.layers().stream()
                            .filter(other -> other.current().get() == layer)
                            .findFirst();
        }
    }
}
