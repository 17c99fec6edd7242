package org.dl4jamp.step;

import java.util.function.Function;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.dl4jamp.dl4j.HookedUpdater;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.UnscalingVertex;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.twin.Gate;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The updater that replaces a network's own. Programs, and DL4J, put others there at any time; this one comes back
 * before the next step.
 */
final class InstalledUpdater {
    private final AmpNetwork network;
    private final Function<HookedUpdater, AmpUpdate> updates;
    private BaseMultiLayerUpdater<?> replaced;
    BaseMultiLayerUpdater<?> updater;
    AmpUpdate update;
    private boolean removed;

    /** @param updates called in place of an updater */
    InstalledUpdater(AmpNetwork network, Function<HookedUpdater, AmpUpdate> updates) {
        this.network = network;
        this.updates = updates;
    }

    /**
     * Puts a new updater into the network, over the state of the one it finds there and the network's gradient view of
     * now. Returns that updater.
     */
    BaseMultiLayerUpdater<?> renew() {
        if (removed) {
            throw new AmpException(
                    "The mixed precision that this updater belongs to is closed, and the network has another gradient"
                            + " view since; ask the network for its updater");
        }
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            BaseMultiLayerUpdater<?> found = network.updater();
            // DL4J drops updater and state in clear(), and begins with new ones.
            replaced = found == null ? network.plainUpdater(null) : found;
            updater = network.hookedUpdater(replaced.getStateViewArray(), hooked -> update = updates.apply(hooked));
            network.setUpdater(updater);
            return updater;
        }
    }

    /** Puts an updater into the network if another one has taken its place, or the gradient view is another one. */
    // DL4J's updaters are equal if their states are; here it matters which object the network will call.
    @SuppressWarnings("ReferenceEquality")
    void putBack(Gate gate) {
        // Inside the gate it was put back before: the holder of the monitor may wait for the gate.
        if (!gate.isInside() && (network.updater() != updater || update.isOutdated())) {
            // Another thread, which holds the monitor, may be about to close.
            synchronized (network.model()) {
                if (!removed) {
                    renew();
                }
            }
        }
    }

    /**
     * Gives the network back the updater that was replaced, with the state of now. An updater that others have put
     * there since, in {@code setLearningRate} for example, stays. Does nothing if nothing is installed. Call it when
     * the layers are the network's own again.
     */
    @SuppressWarnings("ReferenceEquality")
    void remove() {
        removed = true;
        if (updater == null || network.model().params().wasClosed()) {
            return;
        }
        BaseMultiLayerUpdater<?> present = network.updater();
        if (present == updater) {
            boolean fits = !update.isOutdated() && TrainingStep.of(replaced).isEmpty() && !isOverWrappers(replaced);
            network.setUpdater(fits ? replaced : network.plainUpdater(updater.getStateViewArray()));
        }
    }

    private static boolean isOverWrappers(BaseMultiLayerUpdater<?> updater) {
        return updater.getUpdaterBlocks().stream()
                .flatMap(block -> block.getLayersAndVariablesInBlock().stream())
                .map(state -> StandIn.behind(state.getLayer()))
                .anyMatch(layer -> layer instanceof TwinLayer || layer instanceof UnscalingVertex);
    }
}
