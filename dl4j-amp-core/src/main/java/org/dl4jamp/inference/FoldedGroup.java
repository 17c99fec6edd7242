package org.dl4jamp.inference;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.WeakHashMap;
import org.deeplearning4j.nn.api.Layer;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.layer.GroupLayer;
import org.dl4jamp.policy.FusionGroup;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.twin.Twin;
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

    private final List<String> members;
    private final List<Layer> masters;
    private final Map<Thread, Handed> handed = new WeakHashMap<>();
    private FoldedLayer folded;
    private WatchedWeights weights;

    /** @param layers the network's own layers by their names */
    public FoldedGroup(FusionGroup group, Map<String, Layer> layers) {
        this.members = group.members();
        this.masters =
                members.stream().map(layers::get).filter(Objects::nonNull).toList();
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

    /**
     * Returns the weights of the other layers in the group, which have none: what is set there changes the head's.
     * Those are refreshed before each pass.
     */
    public Twin.Weights member() {
        return new Twin.Weights() {
            @Override
            public void masterSet() {
                weights.masterSet();
            }
        };
    }

    /** Returns the part of a layer or vertex in the group. */
    public GroupLayer.Membership membership(String name) {
        int position = members.indexOf(name);
        return new GroupLayer.Membership() {
            @Override
            public boolean isTogether(INDArray given) {
                return position == 0 ? begins() : isHandedTo(name, given);
            }

            @Override
            public void handsOn(INDArray activations) {
                if (position + 1 < members.size()) {
                    handed.put(Thread.currentThread(), new Handed(members.get(position + 1), activations));
                }
            }
        };
    }

    private boolean begins() {
        handed.remove(Thread.currentThread());
        if (masters.stream().anyMatch(master -> master.getMaskArray() != null) || !NetworkCall.asksForOutputsOnly()) {
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
            throw new AmpException("Layer \"" + name
                    + "\" was given another array than the layer before it has returned, in whose pass it was"
                    + " computed already."
                    + " Either a pass has failed between the two, and the network has to be run again, or"
                    + " something has changed the array between them:"
                    + " then keep the layer out of its group, by another precision for example (keepFull), or"
                    + " leave inference mode");
        }
        return true;
    }
}
