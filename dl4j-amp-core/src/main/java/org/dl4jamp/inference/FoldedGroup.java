package org.dl4jamp.inference;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.WeakHashMap;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.layer.GroupLayer;
import org.dl4jamp.layer.RepeatedPart;
import org.dl4jamp.policy.FusionGroup;
import org.dl4jamp.twin.DelegatingVertex;
import org.dl4jamp.twin.Gate;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Decides in which passes a group is computed together, at its head's turn. The other members recognize such a pass by
 * the identity of their input array.
 *
 * <p>A group is computed layer by layer in passes that may return activations of single layers. So it is where a mask
 * comes between two of its layers, or a folded weight isn't finite in the layer's precision.
 *
 * <p>Not thread-safe.
 */
public final class FoldedGroup {
    /** The array that a member of the group has returned to the next one. */
    private record Handed(String to, INDArray activations) {}

    private final FusionGroup group;
    private final OutputPasses.Part passes;
    private final List<Layer> masters;
    private final Map<Thread, Handed> handed = new WeakHashMap<>();
    private FoldedLayer folded;
    private WatchedWeights weights;

    /**
     * @param passes the group's part in those that return nothing but outputs
     * @param layers the network's own layers by their names
     */
    public FoldedGroup(FusionGroup group, OutputPasses.Part passes, Map<String, Layer> layers) {
        this.group = group;
        this.passes = passes;
        this.masters = group.members().stream()
                .map(layers::get)
                .filter(Objects::nonNull)
                .toList();
    }

    /**
     * Takes note of the layer that computes the group, and of its twin's weights. Returns weights for the twin's
     * wrapper: they have been refreshed when it computes.
     */
    public Twin.Weights ledBy(FoldedLayer layer, WatchedWeights watched) {
        folded = layer;
        weights = watched;
        return member();
    }

    /** Returns the twin of another layer in the group: it returns its input, since the head has done its work. */
    public Twin follower(Layer master, ComputeEngine.EngineSession session, DataType type) {
        PassThrough layer = new PassThrough(master, session);
        return new Twin(layer, type, false, Twin.Retention.INPUT, null, member(), session.casting(), type);
    }

    /**
     * Returns the weights of the other layers in the group, which have none: what is set there changes the head's.
     * Those are refreshed before each pass.
     */
    private Twin.Weights member() {
        return new Twin.Weights() {
            @Override
            public void masterSet() {
                weights.masterSet();
            }
        };
    }

    /** Returns the vertex that adds in passes that don't compute the group together. */
    public GraphVertex sum(VertexRequest request, ComputeEngine.EngineSession session) {
        return new SumVertex(request, this, session);
    }

    /** Returns the part of a layer or vertex in the group. */
    public GroupLayer.Membership membership(String name) {
        List<String> members = group.members();
        int position = members.indexOf(name);
        return new GroupLayer.Membership() {
            @Override
            public boolean isTogether(INDArray given) {
                return position == 0 ? begins(given) : isHandedTo(name, given);
            }

            @Override
            public void handsOn(INDArray activations) {
                if (position + 1 < members.size()) {
                    handed.put(Thread.currentThread(), new Handed(members.get(position + 1), activations));
                } else {
                    passes.made(activations);
                }
            }
        };
    }

    private boolean begins(INDArray given) {
        handed.remove(Thread.currentThread());
        if (!passes.isIn(given) || masters.stream().anyMatch(master -> master.getMaskArray() != null)) {
            return false;
        }
        weights.refresh();
        return folded.isFinite();
    }

    // DL4J gives a layer the very object that the one before has returned.
    @SuppressWarnings("ReferenceEquality")
    private boolean isHandedTo(String name, INDArray given) {
        Handed last = handed.get(Thread.currentThread());
        if (last == null || !last.to.equals(name)) {
            return false;
        }
        handed.remove(Thread.currentThread());
        if (last.activations != given) {
            throw ComputedAlready.withAnother(
                    name, "keep the layer out of its group, by another precision for example (keepFull)");
        }
        return true;
    }

    private static final class PassThrough extends AbstractLayer<org.deeplearning4j.nn.conf.layers.Layer>
            implements Twin.Repeatable {
        private static final long serialVersionUID = 1L;

        private final transient ComputeEngine.EngineSession session;

        PassThrough(Layer master, ComputeEngine.EngineSession session) {
            super(master.conf().clone(), DataType.FLOAT);
            layerConf().setIDropout(null);
            this.session = session;
            setIndex(master.getIndex());
        }

        @Override
        public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
            assertInputSet(false);
            return session.passThrough(input, workspaceMgr);
        }

        @Override
        public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
            throw new UnsupportedOperationException("Not supported");
        }

        @Override
        public boolean isRepeatable() {
            return true;
        }

        @Override
        public boolean isPretrainLayer() {
            return false;
        }

        @Override
        public void clearNoiseWeightParams() {
            // It has no weights.
        }
    }

    /** A wrapper of a vertex that adds what the group's head has added already, where that was computed together. */
    private static final class SumVertex extends DelegatingVertex implements RepeatedPart.Taker {
        private static final long serialVersionUID = 1L;

        private final transient VertexRequest request;
        /** Number of the input that the group makes. */
        private final transient int product;

        private final transient GroupLayer.Membership membership;
        private final transient GraphVertex together;
        private final transient GraphVertex alone;
        private transient RepeatedPart repeated = RepeatedPart.NONE;

        SumVertex(VertexRequest request, FoldedGroup folded, ComputeEngine.EngineSession session) {
            super(request.master());
            this.request = request;
            this.product = 1 - folded.group.sum().orElseThrow().summand();
            this.membership = folded.membership(request.name());
            this.together = session.sum(request, folded.group);
            this.alone = session.vertex(request);
            request.gate().takePart(request.context().turn(), false);
        }

        @Override
        public INDArray doForward(boolean training, LayerWorkspaceMgr workspaceMgr) {
            try (Gate.Inside inside = request.gate().forward(request.context().turn(), false)) {
                if (inside.isOwn() || !master().canDoForward()) {
                    return alone.doForward(training, workspaceMgr);
                }
                INDArray given = getInputs()[product];
                INDArray ready = repeated.repeated(given, training, workspaceMgr);
                if (ready != null) {
                    // The engine computes what depends on it, whatever computed the pass before.
                    request.context().check().leavesToDl4j(training);
                    membership.handsOn(ready);
                    return ready;
                }
                boolean isTogether = membership.isTogether(given);
                INDArray sum = (isTogether ? together : alone).doForward(training, workspaceMgr);
                if (isTogether) {
                    membership.handsOn(sum);
                }
                repeated.computed(given, sum, isTogether);
                return sum;
            }
        }

        @Override
        public void takePart(RepeatedPart part) {
            repeated = part;
        }
    }
}
